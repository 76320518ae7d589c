"""Tensor maps (ISA 5.5): what a descriptor says and which bytes a tensor copy moves. Nothing of memory ordering."""
