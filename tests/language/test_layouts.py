"""Both layouts of the grammar, comments, labels, and the tests printed in chapter 8."""

from __future__ import annotations

import pytest

from memcheck.language.test import Quantifier, RegisterTerm
from memcheck.ptx.instructions import Atom, AtomOp, Branch, Fence, Load, Store
from memcheck.ptx.operands import Address, AddressOf, Guard, Immediate, Register
from memcheck.ptx.qualifiers import Proxy, Scope, Sem, Space
from tests.language.reading import content, read, thread

COLUMNS = """PTX MP+rel.gpu+acq.gpu
"Message passing,
over two lines" "and a second string with (* no comment *) and http://no.comment"
{ (* state *)
x=0; flag=0;  // rest of the line
P1:r0=0; P1:r1=0
}
 P0@cta 0,gpu 0        | P1 @ gpu 0, cta 1      ;
 st.weak x, 1          | ld.acquire.gpu r0,flag ;
                       |                        ;
 st.release.gpu flag, 1| ld.weak r1, x          ;
~exists
 (P1:r0 == 1 /\\ 1:r1 != 1)"""

BLOCKS = """(* before (* nested *) the header *)
PTX MP+rel.gpu+acq.gpu
"Message passing,
over two lines" "and a second string with (* no comment *) and http://no.comment"
{ x = 0; flag = 0; P1:r0 = 0; P1:r1 = 0; }
P0 @ cta 0 { st.weak.b32 [x], 1; st.release.gpu.b32 [flag], 1; }
P1 @ cta 1 { ld.acquire.gpu.b32 %r0, [flag]; ld.b32 %r1, [x]; }
~ exists (P1:r0 = 1 /\\ P1:r1 != 1)
"""


def test_the_layouts_say_the_same():
    columns, blocks = read(COLUMNS), read(BLOCKS)
    assert columns.columns
    assert not blocks.columns
    assert content(columns) == content(blocks)


def test_what_is_read():
    test = read(COLUMNS)
    assert test.name == "MP+rel.gpu+acq.gpu"
    assert test.description[0] == "Message passing,\nover two lines"
    assert test.description[1].endswith("http://no.comment")
    assert [t.name for t in test.threads] == ["P0", "P1"]
    store, release = test.threads[0].body
    assert isinstance(store, Store)
    assert (store.sem, store.scope, store.address) == (Sem.WEAK, None, Address(AddressOf("x")))
    assert isinstance(release, Store)
    assert (release.sem, release.scope, release.sources) == (Sem.RELEASE, Scope.GPU, (Immediate(1),))
    assert test.threads[1].initial == {"r0": Immediate(0), "r1": Immediate(0)}
    assert test.condition is not None
    assert test.condition.quantifier is Quantifier.NOT_EXISTS
    assert test.condition.text == "~exists (P1:r0 == 1 /\\ 1:r1 != 1)"
    assert test.observed == (RegisterTerm(1, "r0"), RegisterTerm(1, "r1"))


def test_spans_are_places_in_the_file():
    test = read(COLUMNS)
    load = test.threads[1].body[0]
    assert (load.span.line, load.span.column) == (9, 26)
    assert load.text == "ld.acquire.gpu r0,flag"
    assert load.span.excerpt().splitlines()[1].strip() == "^" * len("ld.acquire.gpu r0,flag")
    store = read("PTX T { x = 0 }\nP0 {\n  ld r0, [x];\n\n  st.relaxed.gpu\n    [x], 1;\n}").threads[0].body[1]
    assert (store.span.line, store.span.column, store.text) == (5, 3, "st.relaxed.gpu [x], 1")


@pytest.mark.parametrize("name", ['a"b', "(*a", "a//b", "é|;{}"])
def test_a_name_holds_any_characters(name):
    assert read(f"PTX {name}\n{{ x = 0 (* c *) }} P0 {{ ld r0, x; }}").name == name


@pytest.mark.parametrize(
    "text",
    [
        "\ufeffPTX T {} P0 {}",
        "PTX T\r\n{\r\nx = 0;\r\n}\r\nP0 {\r\nld r0, [x];\r\n}\r\n",
        "PTX T {} P0 ;",
        "PTX T{} {}P0{}",
    ],
)
def test_accepted(text):
    assert read(text).name in ("T", "T{}")


def test_labels_guards_and_branches():
    test = thread("A: B: @p bra A; LC00: @!%p0 st x, 1; beq r0, 1, END; goto $L; $L: END:", "x = 0")
    labels = test.threads[0].labels
    assert labels == {"A": 0, "B": 0, "LC00": 1, "$L": 4, "END": 4}
    branch, store, compare, jump = test.threads[0].body
    assert isinstance(branch, Branch)
    assert (branch.target, branch.guard) == ("A", Guard(Register("p", 1)))
    assert store.guard == Guard(Register("p0", 1), negated=True)
    assert store.text == "@!%p0 st x, 1"
    assert isinstance(compare, Branch)
    assert compare.compare is not None
    assert compare.compare[:3] == ("eq", Register("r0", 32), Immediate(1))
    assert isinstance(jump, Branch)
    assert jump.target == "$L"


def test_a_bar_in_columns_may_be_a_pair():
    row = "shfl.sync.idx.b32 r0|p0, r1, 0, 31, -1 | ld.weak r0, x"
    test = read(f"PTX T {{ x = 0 }} P0 @ warp 0, cta 0 | P1 @ cta 0 ; {row} ;")
    assert [len(t.body) for t in test.threads] == [1, 1]
    assert test.threads[0].widths == {"r0": 32, "p0": 1, "r1": 32}


def test_operands():
    body = """
      ld.v2.b32 {r0, r1}, [a + 8]; ld.b32 r2, [rd0-4]; st.b32 [a+0x4], -1; mov.b32 r3, 0b101;
      atom.add.f32 r4, [a], 0f3F800000; mov.u64 rd1, a; st.b32 [a], WARP_SZ; mov.u32 r5, %laneid; ld r6, 2"""
    test = thread(body, ".global .b32 a[4]", " @ lane 3")
    load, low, store, mov, add, address, size, lane, value = test.threads[0].body
    assert isinstance(load, Load)
    assert load.address.base == AddressOf("a")
    assert load.address.offset == 8
    assert isinstance(low, Load)
    assert low.address == Address(Register("rd0", 64), -4)
    assert isinstance(store, Store)
    assert store.sources == (Immediate(-1),)
    assert mov.sources == (Immediate(5),)  # type: ignore[attr-defined]
    assert isinstance(add, Atom)
    assert add.operands == ((Immediate(0x3F800000),),)
    assert address.sources == (AddressOf("a"),)  # type: ignore[attr-defined]
    assert isinstance(size, Store)
    assert size.sources == (Immediate(32),)
    assert lane.sources == (Immediate(3),)  # type: ignore[attr-defined]
    assert value.sources == (Immediate(2),)  # type: ignore[attr-defined]


def test_reg_lines_decide_widths():
    test = thread(".reg .b64 r1, %t<3>; .reg .pred q; @q mov.b64 t2, r1; ld.b64 r1, [x]", "x = 0")
    assert test.threads[0].widths == {"q": 1, "t2": 64, "r1": 64}


def test_a_name_declared_as_memory_is_memory():
    test = thread("st.b32 rd1, 1; mov.b64 %rd1, 2", "rd1 = 0")
    store, move = test.threads[0].body
    assert isinstance(store, Store)
    assert store.address == Address(AddressOf("rd1"))
    assert move.destinations == (Register("rd1", 64),)  # type: ignore[attr-defined]


def test_special_registers():
    text = """PTX T { x = 0 }
    P0 @ cta 7, cluster 2, warp 1, lane 5 { mov.u32 r0, %cluster_ctarank; mov.u32 r1, %lanemask_lt; }
    P1 @ cta 4, cluster 2 { mov.u32 r0, %cluster_nctarank; mov.u32 r1, %cluster_ctarank; }"""
    values = [[i.sources[0].value for i in t.body] for t in read(text).threads]  # type: ignore[attr-defined]
    assert values == [[1, 31], [2, 0]]


CHAPTER_8 = {
    "RMW": (
        ".global .u32 x = 0;",
        "A1: atom.sys.inc.u32 %r0, [x];",
        "A2: atom.sys.inc.u32 %r0, [x];",
        "forall (x = 2)",
    ),
    "LB+deps": (
        ".global .u32 x = 0; .global .u32 y = 0;",
        "A1: ld.global.u32 %r0, [x]; B1: st.global.u32 [y], %r0;",
        "A2: ld.global.u32 %r1, [y]; B2: st.global.u32 [x], %r1;",
        "forall (x = 0 /\\ y = 0)",
    ),
    "CoRR": (
        ".global .u32 x = 0;",
        "W1: st.global.relaxed.sys.u32 [x], 1;",
        "R1: ld.global.relaxed.sys.u32 %r0, [x]; R2: ld.global.relaxed.sys.u32 %r1, [x];",
        "forall (~ P1:r0 = 1 \\/ P1:r1 = 1)",
    ),
    "MP": (
        ".global .u32 data = 0; .global .u32 flag = 0;",
        "W1: st.global.u32 [data], 1; F1: fence.sys; W2: st.global.relaxed.sys.u32 [flag], 1;",
        "R1: ld.global.relaxed.sys.u32 %r0, [flag]; F2: fence.sys; R2: ld.global.u32 %r1, [data];",
        "forall (not (P1:r0 = 1) \\/ P1:r1 = 1)",
    ),
    "SB": (
        ".global .u32 x = 0; .global .u32 y = 0;",
        "W1: st.global.u32 [x], 1; F1: fence.sc.sys; R1: ld.global.u32 %r0, [y];",
        "W2: st.global.u32 [y], 1; F2: fence.sc.sys; R2: ld.global.u32 %r1, [x];",
        "forall (P0:r0 == 1 \\/ P1:r1 == 1)",
    ),
    "MP+red": (
        ".global .u32 x = 0; .global .u32 flag = 0;",
        "W1: st.u32 [x], 42; W2: st.release.gpu.u32 [flag], 1;",
        "RMW1: red.sys.global.add.u32 [flag], 1; F2: fence.acquire.gpu; R2: ld.weak.u32 %r1, [x];",
        "exists (P1:r1 == 0 /\\ flag == 2)",
    ),
}


@pytest.mark.parametrize("name", CHAPTER_8)
def test_chapter_8(name):
    state, first, second, condition = CHAPTER_8[name]
    test = read(f"PTX {name}\n{{ {state} }}\nP0 @ cta 0 {{ {first} }}\nP1 @ cta 1 {{ {second} }}\n{condition}")
    assert all(thread.body and thread.labels for thread in test.threads)
    assert test.condition is not None


def test_chapter_8_increments_have_no_bound():
    first = read("PTX T { x = 0 } P0 { atom.sys.inc.u32 %r0, [x]; }").threads[0].body[0]
    assert isinstance(first, Atom)
    assert (first.op, first.scope, first.sem) == (AtomOp.INC, Scope.SYS, Sem.RELAXED)


def test_chapter_8_aliases():
    test = read(
        """PTX CoWR { .global .u32 data_alias_1; .global data_alias_2 aliases data_alias_1; }
        P0 { W1: st.global.u32 [data_alias_1], 1; F1: fence.proxy.alias; R1: ld.global.u32 %r1, [data_alias_2]; }
        forall (P0:r1 = 1)"""
    )
    alias = test.variables["data_alias_2"]
    assert (alias.aliases, alias.proxy, alias.space, alias.type.name) == (
        "data_alias_1",
        Proxy.GENERIC,
        Space.GLOBAL,
        "u32",
    )


def test_the_old_order_of_qualifiers():
    store, fence = thread("st.global.relaxed.sys.u32 [x], 1; fence.sys").threads[0].body
    assert isinstance(store, Store)
    assert (store.space, store.sem, store.scope, store.type.name) == (Space.GLOBAL, Sem.RELAXED, Scope.SYS, "u32")
    assert isinstance(fence, Fence)
    assert fence.sem is Sem.ACQ_REL
