"""Store-buffering rings with fence.sc: each thread stores to its location and loads the next one's."""

from __future__ import annotations


def ring(threads: int) -> str:
    """A test whose condition, that every load misses, is forbidden; the other 2^threads - 1 states are allowed."""
    lines = [f"PTX ring-{threads}", "{"]
    lines += [f"  .global .u32 x{i} = 0;" for i in range(threads)]
    lines.append("}")
    for i in range(threads):
        lines += [
            f"P{i} @ cta {i} {{",
            f"  st.global.u32 [x{i}], 1;",
            "  fence.sc.gpu;",
            f"  ld.global.u32 r0, [x{(i + 1) % threads}];",
            "}",
        ]
    lines.append("exists (" + " /\\ ".join(f"P{i}:r0 = 0" for i in range(threads)) + ")")
    return "\n".join(lines) + "\n"
