"""The initial state: variables, implied types, aliases, multimem addresses, registers."""

from __future__ import annotations

import pytest

from memcheck.errors import SourceError
from memcheck.language.printer import print_test
from memcheck.language.test import MemoryTerm, TensorMap, VariableKind
from memcheck.ptx.operands import Address, AddressOf, Immediate, Register
from memcheck.ptx.qualifiers import Proxy, Space
from memcheck.ptx.tensors import TensorStore
from tests.language.reading import content, read, thread


def variables(state: str, body: str = ""):
    return thread(body, state).variables


def test_an_array_is_filled_with_zeros():
    buf = variables(".shared .align 16 .b32 buf[4] = {1, -1}")["buf"]
    assert (buf.space, buf.align, buf.count, buf.array, buf.size) == (Space.SHARED_CTA, 16, 4, True, 16)
    assert buf.init == (1, 0xFFFFFFFF, 0, 0)
    assert buf.initialised


def test_declarations():
    got = variables(".global .u64 a; .const .s8 b = -1; .shared::cta .b128 c[] = {1, 2}; .global .f32 d = 0f3F800000")
    assert (got["a"].type.name, got["a"].init, got["a"].initialised, got["a"].array) == ("u64", (0,), False, False)
    assert (got["b"].space, got["b"].init) == (Space.CONST, (255,))
    assert (got["c"].count, got["c"].size) == (2, 32)
    assert got["d"].init == (0x3F800000,)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("", "b32"),
        ("ld r0, [x]", "b32"),
        ("ld.u64 rd0, [x]", "b64"),
        ("ld.b128 rq0, [x]", "b128"),
        ("st.b8 [x], 1", "b8"),
        ("st.b8 [x], 1; ld.b16 rs0, [x]", "b16"),
        ("st.b8 [x+1], 1", "b32"),
        ("st.b64 [x], 1; ld.b32 r0, [x+4]", "b64"),
        ("mov.b64 rd1, x; ld.b64 rd2, [rd1]", "b64"),
        ("st.b64 [y], 1", "b64"),
        ("sust.b64 t, 1", "b64"),
    ],
)
def test_an_untyped_location_is_as_wide_as_its_accesses(body, name):
    got = variables("x = -1; y aliases x; t @ surface aliases y", body)
    assert {v.type.name for v in got.values()} == {name}
    assert got["x"].init == ((1 << got["x"].type.bits) - 1,)


def test_an_address_in_a_register_counts_too():
    assert variables("x = 0; P0:rd1 = x", "ld.b64 rd2, [rd1]")["x"].type.name == "b64"


def test_locations_that_only_threads_name():
    test = thread("ld.weak r0, y; st [z], 1; atom.add r1, u, 1", "x = 0; P0:rd0 = &v")
    assert list(test.variables) == ["x", "y", "z", "u", "v"]
    assert not test.variables["y"].initialised
    assert [note.split()[0] for note in test.notes] == ["y", "z", "u", "v"]


def test_a_slip_of_the_pen_is_no_new_location():
    with pytest.raises(SourceError, match="unknown name `flga`"):
        thread("st [flga], 1", "flag = 0")
    assert "flga" in thread("st [flga], 1; ld r0, [flga]", "flag = 0").variables


def test_a_value_is_no_new_location():
    for value in ("y", "y+4", "y-4"):
        with pytest.raises(SourceError, match=r"`y`|is wanted here"):
            thread(f"mov.u32 r0, {value}", "x = 0")


def test_aliases_and_views():
    got = variables(
        "y aliases x; t @ texture aliases y; x = 3; .shared z aliases s; .shared .b8 s[2]; g @ generic aliases x"
    )
    assert [(got[n].aliases, got[n].proxy) for n in "ytzg"] == [
        ("x", Proxy.GENERIC),
        ("y", Proxy.TEXTURE),
        ("s", Proxy.GENERIC),
        ("x", Proxy.GENERIC),
    ]
    assert (got["z"].space, got["z"].count, got["z"].array) == (Space.SHARED_CTA, 2, True)
    assert not got["y"].initialised


def test_multimem():
    got = variables(".multimem mm = {a, b}; .global .u32 a; .global .u32 b = 2")
    assert (got["mm"].kind, got["mm"].targets, got["mm"].size) == (VariableKind.MULTIMEM, ("a", "b"), 4)


def test_initial_registers():
    test = thread("", "x = 0; P0:r1 = -1; P0:%rd1 = x; 0:p1 = 1; P0:rd2 = &x")
    assert test.threads[0].initial == {
        "r1": Immediate(0xFFFFFFFF),
        "rd1": AddressOf("x"),
        "p1": Immediate(1),
        "rd2": AddressOf("x"),
    }


def test_mbarriers():
    got = variables(".shared .mbarrier b = 2; .shared::cta .align 16 .mbarrier full[2] = {1, 1048575}")
    b, full = got["b"], got["full"]
    assert (b.kind, b.space, b.size, b.init, b.array) == (VariableKind.MBARRIER, Space.SHARED_CTA, 8, (2,), False)
    assert (full.size, full.init, full.array, full.align) == (16, (1, 1048575), True, 16)


PARTS = {"base": "x", "type": ".u32", "dims": "{16, 8}", "strides": "{64}", "box": "{4, 4}"}


def written(parts: dict[str, str]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in parts.items())


FIELDS = written(PARTS)


@pytest.mark.parametrize(
    ("words", "space"),
    [(".global .align 128", Space.GLOBAL), (".const", Space.CONST), (".param", Space.PARAM)],
)
def test_tensor_maps(words, space):
    tm = variables(f".global .b32 x[128]; {words} .tensormap tm = {{ {FIELDS}, fill = zero }}")["tm"]
    assert (tm.kind, tm.space, tm.size, tm.targets) == (VariableKind.TENSORMAP, space, 128, ("x",))
    assert tm.map == TensorMap(
        base="x", type="u32", dims=(16, 8), strides=(64,), box=(4, 4), element_strides=(1, 1), swizzle=0
    )


def test_fields_of_tensor_maps():
    cube = FIELDS.replace("8}", "8, 2}").replace("{64}", "{64, 512}").replace("4}", "4, 2}").replace(".u32", ".f32.ftz")
    more = "element_strides = {1, 2, 1}, swizzle = 32, interleave = 32, fill = nan"
    map = variables(f"x = 0; .const .tensormap tm = {{ {cube}, {more} }}")["tm"].map
    assert (map.type, map.element_strides, map.swizzle, map.interleave) == ("f32.ftz", (1, 2, 1), 32, 32)
    assert map.fills_nan
    images = "base = &x, type = .u8, dims = {64, 9, 9, 2}, strides = {64, 576, 5184}"
    corners = "lower = {-1, -1}, upper = {0, 0}, channels = 64, pixels = 8, swizzle = none"
    map = variables(f"x = 0; .param .tensormap tm = {{ {images}, {corners} }}")["tm"].map
    assert (map.box, map.lower, map.upper, map.channels, map.pixels) == ((), (-1, -1), (0, 0), 64, 8)


def test_orders_of_grids():
    test = read(
        "PTX T { order grid 0 -> grid 2; order grid 2 -> grid 1 programmatic }"
        "P0 @ grid 0 { } P1 @ grid 1 { } P2 @ grid 2 { }"
    )
    assert [(o.before, o.after, o.programmatic) for o in test.grid_orders] == [(0, 2, False), (2, 1, True)]


@pytest.mark.parametrize(
    "state",
    [".shared .mbarrier b = 2", f"x = 0; .const .tensormap tm = {{ {FIELDS} }}", "order grid 0 -> grid 1"],
)
def test_objects_are_printed(state):
    test = read(f"PTX T {{ {state} }} P0 @ grid 0 {{ }} P1 @ grid 1 {{ }} exists (true)")
    assert content(read(print_test(test))) == content(test)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("box", "{3, 4}", "`box[0]` is 12 bytes; it must be a multiple of 16 bytes."),
        ("box", "{4, 257}", "`box[1]` is 257; it must be from 1 to 256."),
        ("dims", "{0, 8}", "`dims[0]` is 0; it must be from 1 to 2^32."),
        ("strides", "{24}", "`strides[0]` is 24; it must be a multiple of 16 bytes."),
        ("element_strides", "{1, 9}", "`element_strides[1]` is 9; it must be from 1 to 8."),
        ("interleave", "16", "`dims` has 2 dimensions; `interleave` needs 3 to 5."),
        ("swizzle", "96", "`swizzle` is 96 bytes; no encoder makes that, only tensormap.replace."),
        ("fill", "nan", "`fill` is NaN; `type` must be floating point, and .u32 is not."),
        ("box", "{256, 256}", "the box has 262144 bytes; it must have at most 233472."),
    ],
)
def test_maps_that_no_driver_encodes(field, value, message):
    """The error is at the field, or at the name of the map."""
    text = f"x = 0; .const .tensormap tm = {{ {written({**PARTS, field: value})} }}"
    with pytest.raises(SourceError) as caught:
        variables(text)
    assert caught.value.message == f"no driver encodes this tensor map: {message}"
    span = caught.value.span
    place = field if f"`{field}" in message.split(" ")[0] else "dims" if message.startswith("`dims") else "tm"
    assert span.source.line(span.line)[span.column - 1 :].startswith(place)


def test_alignment_of_maps_and_their_tensors():
    wide = "dims = {16, 8, 2}, strides = {64, 512}, box = {8, 4, 2}, swizzle = 32, interleave = 32"
    got = variables(
        f".global .b32 x[128]; .global .b128 y[8]; .const .tensormap a = {{ base = x, type = .u32, {wide} }};"
        f" .const .tensormap b = {{ {FIELDS} }}; .param .align 64 .tensormap c = {{ {FIELDS.replace('x', 'y', 1)} }};"
    )
    assert [got[name].align for name in "xyabc"] == [32, 16, 128, 128, 64]
    with pytest.raises(SourceError, match="a multiple of 16 bytes, and `x` one of 8") as caught:
        variables(f".global .align 8 .b32 x[128]; .const .tensormap a = {{ {FIELDS} }}")
    assert caught.value.hint == "declare `x` .align 16"
    with pytest.raises(SourceError, match="aligned to 64 bytes at least, and this to 16"):
        variables(f"x = 0; .const .align 16 .tensormap a = {{ {FIELDS} }}")


def test_tensor_operands():
    body = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [tm, {r0, -3}], [s]"
    test = thread(body, f"x = 0; .shared .b32 s[16]; .const .tensormap tm = {{ {FIELDS} }}")
    (store,) = test.threads[0].body
    assert isinstance(store, TensorStore)
    assert (store.map, store.coordinates) == (Address(AddressOf("tm")), (Register("r0", 32), Immediate(-3)))
    assert content(read(print_test(test))) == content(test)


@pytest.mark.parametrize("space", [".param", ".const"])
def test_only_maps_that_can_be_written_are_changed(space):
    with pytest.raises(SourceError, match="tm is"):
        thread("tensormap.replace.tile.rank.b1024.b32 [tm], 1", f"x = 0; {space} .tensormap tm = {{ {FIELDS} }}")


def test_objects_are_not_observed():
    test = thread("", f"x = 0; .shared .mbarrier b = 1; .const .tensormap tm = {{ {FIELDS} }}")
    assert [test.key(term) for term in test.observed] == ["x"]


def test_all_locations_are_observed_where_none_is_named():
    text = """PTX T { x = 0; y aliases x; t @ texture aliases x; .shared .b32 s[2]; .multimem m = {g, h};
      .global .b32 g; .global .b32 h }
    P0 @ cta 0 { ld r10, [x]; ld r2, [x]; } P1 @ cta 1 { }"""
    test = read(text)
    keys = [test.key(term) for term in test.observed]
    assert keys == ["P0:r2", "P0:r10", "x", "s[0] @ cta 0", "s[1] @ cta 0", "s[0] @ cta 1", "s[1] @ cta 1", "g", "h"]


def test_one_cta_needs_no_instance():
    test = read("PTX T { .shared .b32 s } P0 @ cta 3 { } exists (s @ cta 3 = 1)")
    assert test.observed == (MemoryTerm("s"),)
