"""What a PTX instruction is: qualifiers, types, operands, instructions. No parsing, no ordering."""
