"""Walks against copies that an H200 made (sm_90, driver 580).

Loads: the word at address a of global memory held a / 4. `digest` is of shared memory, 0xee where nothing was written;
`counted` is the transaction count with which the mbarrier's phase completed. Stores: shared byte i held
7i + 13(i / 256) + 1; `changed` are the ranges (address, bytes) of global memory that changed, `to` what they then held.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from memcheck.tensor.descriptor import Im2col
from memcheck.tensor.request import LoadMode, Request, misuse
from memcheck.tensor.walk import fill_bytes, shared_bytes, transaction_bytes, walk
from tests.tensor.maps import recorded

COPIES = recorded("copies.jsonl")
LOADS = [entry for entry in COPIES if "digest" in entry]
STORES = [entry for entry in COPIES if "changed" in entry]


def _request(entry: dict[str, Any], store: bool) -> Request:
    return Request(
        coordinates=tuple(entry["coordinates"]),
        mode=LoadMode.IM2COL if isinstance(entry["map"].mode, Im2col) else LoadMode.TILE,
        offsets=tuple(entry.get("offsets", ())),
        shared=entry["shared"],
        store=store,
    )


def _held(address: int) -> int:
    """The byte of global memory at an address."""
    return address // 4 >> 8 * (address % 4) & 0xFF


def test_there_are_enough():
    assert len(LOADS) > 150
    assert len(STORES) > 30


@pytest.mark.parametrize("entry", LOADS, ids=lambda entry: f"{entry['map'].rank}d")
def test_loads(entry: dict[str, Any]):
    tensor, request = entry["map"], _request(entry, store=False)
    assert misuse(tensor, request) == ()
    shared = bytearray(b"\xee" * shared_bytes(tensor, request))
    for at, address, size in walk(tensor, request):
        filled = fill_bytes(tensor) if address is None else bytes(_held(address + i) for i in range(size))
        shared[at : at + size] = filled
    assert sha256(shared).hexdigest()[:16] == entry["digest"]
    if "counted" in entry:
        assert transaction_bytes(tensor, request) == entry["counted"]


@pytest.mark.parametrize("entry", STORES, ids=lambda entry: f"{entry['map'].rank}d")
def test_stores(entry: dict[str, Any]):
    """A byte that was stored and did not change held that value before: a byte in 256, so a few of them."""
    tensor, request = entry["map"], _request(entry, store=True)
    assert misuse(tensor, request) == ()
    stored: dict[int, set[int]] = {}
    for at, address, size in walk(tensor, request):
        if address is not None:
            for i in range(size):
                source = request.shared + at + i
                stored.setdefault(address + i, set()).add((source * 7 + (source >> 8) * 13 + 1) & 0xFF)
    addresses = [start + i for start, length in entry["changed"] for i in range(length)]
    changed = dict(zip(addresses, bytes.fromhex(entry["to"]), strict=True))
    assert all(value in stored.get(address, ()) for address, value in changed.items())
    assert len(changed) > len(stored) * 0.95 - 4
