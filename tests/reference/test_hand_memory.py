"""Proxies, bytes, restricted fences, worked out by hand from PTX ISA 8.2, 8.6, 8.7.2, 8.9.5 and 9.7.15.4."""

from __future__ import annotations

import pytest

from tests.reference.texts import ANY, MP, ONE_CTA, R0, SYNCHRONIZED, litmus, observing

# --- 8.6, 8.9.5 rules 2 and 3: proxies ---


# CoWR: rule 3 needs an alias fence on the path; without it the accesses are in no causality order and, being of
# different addresses, not morally strong: a race, and either value.
@pytest.mark.parametrize(
    ("fence", "expected", "race"), [("fence.proxy.alias;", {(1,)}, False), ("", {(0,), (1,)}, True)]
)
def test_aliases(explore, fence, expected, race):
    text = litmus(f"st.u32 [x], 1; {fence} ld.u32 r0, [y];", init="x = 0; y aliases x;", end=observing("P0:r0"))
    found = explore(text, "P0:r0")
    assert found.states == expected
    assert found.outcome.race == race


# The same across threads: the alias fence may stand at either end, but not off the path.
@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        ("fence.proxy.alias;", "", SYNCHRONIZED),
        ("", "fence.proxy.alias;", SYNCHRONIZED),
        ("", "", ANY),
    ],
)
def test_mp_of_aliases(explore, writer, reader, expected):
    text = litmus(
        f"st.u32 [x], 1; {writer} st.release.gpu.u32 [f], 1;",
        f"ld.acquire.gpu.u32 r0, [f]; {reader} ld.u32 r1, [y];",
        init="x = 0; f = 0; y aliases x;",
        end=MP,
    )
    assert explore(text, "P1:r0", "P1:r1").states == expected


# Aliases are not morally strong with each other: strong accesses through two of them synchronize nothing.
def test_flag_through_an_alias(explore):
    text = litmus(
        "st.u32 [x], 1; st.release.gpu.u32 [f], 1;",
        "ld.acquire.gpu.u32 r0, [g]; ld.u32 r1, [x];",
        init="x = 0; f = 0; g aliases f;",
        end=MP,
    )
    assert explore(text, "P1:r0", "P1:r1").states == ANY


# The mixed-proxy extension: a generic write before a texture read needs fence.proxy.texture in the reader's CTA.
@pytest.mark.parametrize(
    ("writer", "reader", "expected"),
    [
        ("", "fence.proxy.texture;", SYNCHRONIZED),
        ("fence.proxy.texture;", "", ANY),
        ("", "", ANY),
        ("", "fence.proxy.surface;", ANY),
    ],
)
def test_mp_into_a_texture(explore, writer, reader, expected):
    text = litmus(
        f"st.u32 [x], 1; {writer} st.release.gpu.u32 [f], 1;",
        f"ld.acquire.gpu.u32 r0, [f]; {reader} tld.u32 r1, [t];",
        init="x = 0; f = 0; t @ texture aliases x;",
        end=MP,
    )
    assert explore(text, "P1:r0", "P1:r1").states == expected


# Rule 2: same proxy, same address, same CTA needs no fence; another CTA's surface access does, one in each CTA.
def test_surface_accesses(explore):
    one = litmus("sust.u32 [s], 1; suld.u32 r0, [s];", init="x = 0; s @ surface aliases x;", end=observing("P0:r0"))
    assert explore(one, "P0:r0").states == {(1,)}
    for fences, expected in (
        (("", ""), ANY),
        (("fence.proxy.surface;",) * 2, SYNCHRONIZED),
        (("fence.proxy.surface;", ""), ANY),
    ):
        text = litmus(
            f"sust.u32 [s], 1; {fences[0]} st.release.gpu.u32 [f], 1;",
            f"ld.acquire.gpu.u32 r0, [f]; {fences[1]} suld.u32 r1, [s];",
            init="x = 0; f = 0; s @ surface aliases x;",
            end=MP,
        )
        assert explore(text, "P1:r0", "P1:r1").states == expected


# A location that is read as read-only is written by the program.
def test_readonly_location_is_written(explore):
    text = litmus("st.u32 [x], 1;", "ld.global.nc.u32 r0, [x];", init="x = 0;", end=observing("P1:r0"))
    assert explore(text).outcome.outside == {"readonly-write"}
    untouched = litmus("st.u32 [y], 1;", "ld.global.nc.u32 r0, [x];", init="x = 7; y = 0;", end=observing("P1:r0"))
    found = explore(untouched, "P1:r0")
    assert found.states == {(7,)}
    assert not found.outcome.outside


# --- 8.2, 8.7.2: bytes ---


# Two halves written, one word read, ordered by a barrier: the word is put together; no race of any kind.
def test_ordered_mixed_sizes(explore):
    writer, reader = "st.u16 [x], 0x1122; st.u16 [x+2], 0x3344; bar.sync 0;", "bar.sync 0; ld.u32 r0, [x];"
    found = explore(litmus(writer, reader, init="x = 0;", places=ONE_CTA, end=R0), "P1:r0")
    assert found.states == {(0x33441122,)}
    assert not found.outcome.outside
    assert not found.outcome.race


# One thread: program order is causality also between accesses of partly different bytes (8.9.5, the common bytes).
def test_mixed_sizes_in_one_thread(explore):
    text = litmus(
        "st.b32 [x], 0x01020304; st.b8 [x+1], 0xff; ld.b32 r0, [x];", init="x = 0;", end=observing("P0:r0", "x")
    )
    found = explore(text, "P0:r0", "x")
    assert found.states == {(0x0102FF04, 0x0102FF04)}
    assert not found.outcome.outside


# The same two accesses unordered: a mixed-size data race, whatever their strength (8.7, condition 3).
def test_racing_mixed_sizes(explore):
    text = litmus(
        "st.release.sys.b8 [x], 1;", "ld.acquire.sys.b32 r0, [x];", init=".global .align 8 .b32 x = 0;", end=R0
    )
    assert explore(text).outcome.outside == {"mixed-size-race"}


# 8.2.4: the elements of a vector are scalars in no order: all four. One 64-bit scalar is read whole.
def test_vectors(explore):
    vectors = litmus(
        "st.relaxed.sys.v2.b32 [b], {1, 1};",
        "ld.relaxed.sys.v2.b32 {r0, r1}, [b];",
        init=".global .align 8 .b32 b[2];",
        end=MP,
    )
    found = explore(vectors, "P1:r0", "P1:r1")
    assert found.states == ANY
    assert not found.outcome.race
    scalar = litmus(
        "st.relaxed.sys.b64 [b], 0x100000001;",
        "ld.relaxed.sys.b64 rd0, [b];",
        init=".global .b64 b;",
        end=observing("P1:rd0"),
    )
    assert explore(scalar, "P1:rd0").states == {(0,), (0x100000001,)}


# --- sync_restrict fences ---


# r0 = 0: any. r0 = 1: the path through the restricted fences orders only shared memory: r1 = 1, and r2 stays any.
def test_restricted_fences(explore):
    text = litmus(
        "st.shared.u32 [s], 1; st.global.u32 [x], 1; fence.release.sync_restrict::shared::cta.cluster; "
        "st.relaxed.cluster.global.u32 [f], 1;",
        "ld.relaxed.cluster.global.u32 r0, [f]; fence.acquire.sync_restrict::shared::cluster.cluster; "
        "ld.shared.u32 r1, [s]; ld.global.u32 r2, [x];",
        init=".shared .u32 s; .global .u32 x; .global .u32 f;",
        places=ONE_CTA,
        end=observing("P1:r0", "P1:r1", "P1:r2"),
    )
    expected = {(0, a, b) for a in (0, 1) for b in (0, 1)} | {(1, 1, 0), (1, 1, 1)}
    assert explore(text, "P1:r0", "P1:r1", "P1:r2").states == expected
