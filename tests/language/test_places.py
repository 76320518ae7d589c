"""Places: completed by the rules of the format, contradictions refused."""

from __future__ import annotations

import pytest

from memcheck.errors import SourceError
from memcheck.language.test import Place
from tests.language.reading import read


def places(*heads: str, columns: bool = False) -> list[Place]:
    if columns:
        text = f"PTX T {{}} {' | '.join(heads)} ;"
    else:
        text = "PTX T {} " + " ".join(f"{head} {{ }}" for head in heads)
    return [thread.place for thread in read(text).threads]


def test_a_thread_alone_is_a_cta_a_cluster_and_a_warp_of_its_own():
    assert places("P0", "P1") == [Place(0, 0, 0, 0, 0, 0), Place(0, 0, 1, 1, 1, 0)]


def test_fresh_numbers_are_the_smallest_unused():
    got = places("P0", "P1 @ cta 0", "P2 @ cta 2, cluster 1", "P3 @ cta 2, warp 0, lane 9", "P4 @ warp 0, cta 2")
    assert got == [
        Place(0, 0, 0, 1, 1, 0),
        Place(0, 0, 2, 0, 2, 0),
        Place(0, 0, 1, 2, 3, 0),
        Place(0, 0, 1, 2, 0, 9),
        Place(0, 0, 1, 2, 0, 0),
    ]


def test_every_level_in_any_order():
    assert places("P0 @ lane 1, warp 2, cta 3, cluster 4, grid 5, gpu 6") == [Place(6, 5, 4, 3, 2, 1)]


def test_a_cluster_is_said_once_for_its_cta():
    got = places("P0 @ cta 0", "P1 @ cta 0, cluster 3", "P2 @ cta 1, cluster 3")
    assert [place.cluster for place in got] == [3, 3, 3]


def test_a_grid_may_span_gpus():
    assert [p.gpu for p in places("P0 @ cta 0, gpu 0, grid 0", "P1 @ cta 1, gpu 1, grid 0")] == [0, 1]


def test_columns_count_ctas_within_their_gpu():
    heads = "P0@cta 0,gpu 0", "P1@cta 0,gpu 1", "P2@cta 0,gpu 1", "P3@cta 1,gpu 1"
    got = places(*heads, columns=True)
    assert [(place.gpu, place.cta) for place in got] == [(0, 0), (1, 2), (1, 2), (1, 1)]
    with pytest.raises(SourceError, match="in CTA 0, but in gpu 0 and 1"):
        places(*heads)


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        (["P0 @ cta 0, cluster 1", "P1 @ cta 0, cluster 2"], "in CTA 0, but in clusters 1 and 2"),
        (["P0 @ cta 0, grid 1", "P1 @ cta 0"], "in CTA 0, but in grid 1 and 0"),
        (["P0 @ cta 0, cluster 1, gpu 0", "P1 @ cta 1, cluster 1, gpu 1"], "in cluster 1, but in gpu 0 and 1"),
        (["P0 @ cta 0, warp 1", "P1 @ cta 1, warp 1"], "in warp 1, but in CTA 0 and 1"),
        (["P0 @ warp 1", "P1 @ warp 1"], "in warp 1, but in CTA 0 and 1"),
        (["P0 @ cta 0, warp 1, lane 2", "P1 @ cta 0, warp 1, lane 2"], "both lane 2 of warp 1"),
        (["P0 @ cta 0, cta 1"], "the cta of P0 is given twice"),
        (["P0 @ lane 32"], "a lane is a number from 0 to 31"),
        (["P0 @ cta -1"], "a cta is a number from 0"),
        ([f"P{n} @ cta 0, warp 0" for n in range(33)], "warp 0 has more than 32 threads"),
    ],
)
def test_contradictions(heads, message):
    with pytest.raises(SourceError, match=message):
        places(*heads)
