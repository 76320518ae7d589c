"""The door to z3: answers, models, errors, limits and interrupts of its C interface."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from memcheck.axiomatic import libz3
from memcheck.axiomatic.clauses import Clauses
from memcheck.axiomatic.solver import OutOfTimeError, Session
from memcheck.errors import MemcheckError


def pigeons(number: int) -> Clauses:
    """One pigeon more than holes: long for a solver of clauses."""
    clauses = Clauses()
    at = [[clauses.variable() for _ in range(number)] for _ in range(number + 1)]
    for row in at:
        clauses.require(*row)
    for hole in range(number):
        for first, second in itertools.combinations(range(number + 1), 2):
            clauses.require(-at[first][hole], -at[second][hole])
    return clauses


def test_answers_and_models_against_all_assignments() -> None:
    rng = random.Random(7)
    for _ in range(100):
        clauses = Clauses()
        variables = [clauses.variable() for _ in range(5)]
        rows = [[v * rng.choice((1, -1)) for v in rng.sample(variables, 2)] for _ in range(rng.randrange(1, 12))]
        for row in rows:
            clauses.require(*row)
        solutions = [
            set(choice)
            for choice in itertools.product(*((v, -v) for v in variables))
            if all(set(row) & set(choice) for row in rows)
        ]
        with Session(clauses) as session:
            for assumptions in ([], [variables[0]], [-variables[1], variables[2]]):
                fitting = [s for s in solutions if s >= set(assumptions)]
                assert session.holds(assumptions) == bool(fitting)
                if fitting:
                    literals = [sign * v for v in variables for sign in (1, -1)]
                    assert session.true_literals(literals) in fitting


@pytest.mark.parametrize("before", list(itertools.product(("lower", "upper", "exact"), repeat=2)))
def test_exact_gates_are_exact_whatever_gates_of_the_same_literals_came_first(before: tuple[str, ...]) -> None:
    clauses = Clauses()
    a, b = clauses.variable(), clauses.variable()
    for kind in before:
        if kind == "exact":
            clauses.both([a, b])
        else:
            clauses.conjunction([a, b], upper=kind == "upper")
    gate = clauses.both([a, b])
    with Session(clauses) as session:
        for given in itertools.product((a, -a), (b, -b)):
            assert session.holds([*given, gate]) == (given == (a, b))
            assert session.holds([*given, -gate]) == (given != (a, b))


def test_text_that_is_no_dimacs_is_an_error() -> None:
    solver = libz3.Solver()
    with pytest.raises(MemcheckError, match="the solver says"):
        solver.read("(assert nonsense)")
    solver.close()


def test_time_limit() -> None:
    started = time.monotonic()
    with pytest.raises(OutOfTimeError, match="time limit"), Session(pigeons(13), deadline=started + 0.3) as session:
        session.holds()
    assert time.monotonic() - started < 30


def test_time_limit_of_one_session_does_not_reach_the_next() -> None:
    with Session(pigeons(3), deadline=time.monotonic() + 0.05) as session:
        assert not session.holds()
    with Session(pigeons(8)) as session:
        assert not session.holds()


def test_control_c_ends_a_long_check() -> None:
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Session(pigeons(13), deadline=started + 60) as session:
        session.holds()
    timer.join()
    assert time.monotonic() - started < 30
    with Session(pigeons(4)) as session:
        assert not session.holds()


def test_no_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(MemcheckError, match="install z3-solver"):
        libz3.library()
    (tmp_path / "z3").mkdir()
    with pytest.raises(MemcheckError, match="install z3-solver"):
        libz3.library()
