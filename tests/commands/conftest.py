"""A parser and an engine that do as a test's name says, for what the command does around them."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from memcheck.corpus import header
from memcheck.crossrun import Crossrun, Refutation
from memcheck.errors import MemcheckError, SourceError, TooLargeError, UnsupportedError
from memcheck.language.test import (
    Compare,
    Condition,
    Expectation,
    MemoryTerm,
    NumberTerm,
    Quantifier,
    RegisterTerm,
    Test,
    Thread,
    Variable,
    Verdict,
)
from memcheck.machine.trace import TraceStep
from memcheck.ptx.qualifiers import Space
from memcheck.result import Remark, Result
from memcheck.source import Span


def parse_test(source):
    """The header decides everything: `bad` is an error at its place, `expects-…` has that expectation."""
    name = header(source.text)
    line = next((i for i, text in enumerate(source.text.splitlines(), 1) if text.strip()), 1)
    span = Span(source, line, 1, 3)
    if name is None or name.startswith("bad"):
        raise SourceError("this is no litmus test", span, "begin with PTX NAME")
    prop = Compare("=", RegisterTerm(0, "r0"), NumberTerm(1))
    return Test(
        name=name,
        description=("A description.",),
        source=source,
        columns=False,
        threads=(Thread(0, "P0", None, (), {}, {}, {"r0": 32}, span),),
        variables={"x": Variable("x", Space.GLOBAL, None, span)},
        condition=None if name.startswith("listed") else Condition(Quantifier.EXISTS, prop, "exists (P0:r0 = 1)", span),
        filter=None,
        observed=(RegisterTerm(0, "r0"), MemoryTerm("x")),
        expectations=tuple(_expectations(name, span)),
    )


def _expectations(name, span):
    for word in name.split("+"):
        if word.startswith("expects-"):
            _, verdict, *states = word.split("-")
            yield Expectation("ptx", Verdict(verdict), int(states[0]) if states else None, "8.10.6", span)


def check(test, model="ptx", *, bound=4, timeout=None, memory=None, verify=True, options=frozenset()):
    name = test.name
    for word, fault in FAULTS.items():
        if name.startswith(word):
            raise fault
    fails = name.startswith("fails")
    states = ((0, 0),) if fails else ((0, 0), (1, 2))
    if name.startswith("differs") and model != "ptx":
        states = ((0, 0), (1, 3))
    outside = (Remark("mixed-size-race", "Two sizes race."),) if name.startswith("outside") else ()
    known = name.startswith("known")
    undecided = {
        "known": "the time limit was reached",
        "slow": f"the time limit of {timeout} s was reached",
        "stops": "interrupted",
    }.get(name.split("+")[0])
    flags = (Remark("deadlock", "P0 waits for ever."),) if name.startswith("hangs") else ()
    return Result(
        test=test,
        model=model,
        states=() if outside else states,
        satisfying=frozenset(state for state in states if state[0] == 1 and not outside),
        holds=None if outside or (undecided and not known) or test.condition is None else not fails,
        flags=flags,
        outside=outside,
        complete=undecided is None,
        undecided=undecided,
        notes=(f"bound {bound}, memory {memory}, verify {verify}, options {sorted(options)}",),
        witnesses={},
        seconds=0.001,
    )


def crossrun(result, *, seconds, **_):
    """The machine reaches what the model allows, unless the name says something else."""
    words = result.test.name.split("+")
    if "foreign" in words:
        raise UnsupportedError("the machine does not execute this instruction yet: st", result.test.threads[0].span)
    if "unplugged" in words:
        raise KeyboardInterrupt
    reached, missing, refuted = result.states, {}, ()
    if "short" in words:
        reached, missing = reached[:1], dict.fromkeys(reached[1:], "write-order")
    if "refutes" in words:
        reached = tuple(sorted({*reached, (7, 7)}))
        step = TraceStep(1, "thread", "P0", f"st [x], 7 within {seconds} s", ("x = 7",))
        refuted = (Refutation((7, 7), ("Causality",), (step,)),)
    return Crossrun(reached, "partial" not in words, missing, refuted, interrupted="halts" in words)


FAULTS = {
    "breaks": ZeroDivisionError("a fault of ours"),
    "interrupts": KeyboardInterrupt(),
    "fills": MemoryError(),
    "deep": RecursionError(),
    "huge": TooLargeError("The test has 10^9 executions."),
    "refused": MemcheckError("The model does not fit."),
}


@pytest.fixture
def fakes(monkeypatch):
    for module, name, function in (
        ("memcheck.language.load", "parse_test", parse_test),
        ("memcheck.checker", "check", check),
        ("memcheck.crossrun", "crossrun", crossrun),
    ):
        if module == "memcheck.crossrun":  # its types and reasons stay
            monkeypatch.setattr(f"{module}.{name}", function)
            continue
        fake = ModuleType(module)
        setattr(fake, name, function)
        monkeypatch.setitem(sys.modules, module, fake)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes test files named by their test, in the current folder; returns their names."""
    monkeypatch.chdir(tmp_path)

    def write(*names):
        for name in names:
            path = tmp_path / f"{name}.litmus"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"PTX {name.rpartition('/')[2]}\n{{}}\nP0 {{ }}\nexists (P0:r0 = 1)\n")
        return [f"{name}.litmus" for name in names]

    return write
