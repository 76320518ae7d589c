"""From a structure and a model to the outcome: states, flags, what voids the verdict, hangs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from memcheck.axiomatic.axioms import FlagLiteral
from memcheck.axiomatic.clauses import FALSE, TRUE, OutOfTimeError
from memcheck.axiomatic.encoding import Encoding
from memcheck.axiomatic.literals import Choices
from memcheck.axiomatic.outcome import Finding, Hang, Outcome, State
from memcheck.axiomatic.solver import Session
from memcheck.axiomatic.states import enumerate_states
from memcheck.axiomatic.witness import read_execution
from memcheck.events.domains import Domains, analyse
from memcheck.events.execution import Execution
from memcheck.events.structure import Structure
from memcheck.language.test import Prop
from memcheck.relations.expression import Model


class Limits(NamedTuple):
    """`deadline`: a time.monotonic() value; `memory`: megabytes that z3 may use."""

    deadline: float | None = None
    memory: int | None = None


NO_LIMITS = Limits()


def solve(
    structure: Structure,
    model: Model,
    *,
    witnesses: bool = True,
    limits: Limits = NO_LIMITS,
    tearing: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Outcome:
    """All there is to say about the structure under the model. `progress` is told the number of states so far."""
    return _Search(structure, model, witnesses, limits, tearing, progress).run()


def is_reachable(structure: Structure, model: Model, prop: Prop, limits: Limits = NO_LIMITS) -> bool:
    """Whether some ending, filtered execution ends in a state with the property: one query, no enumeration."""
    return next(iter(are_reachable(structure, model, (prop,), limits)))


def are_reachable(
    structure: Structure, model: Model, props: Sequence[Prop], limits: Limits = NO_LIMITS
) -> Iterator[bool]:
    """The same of several properties, one query each."""
    encoding = Encoding(structure, analyse(structure), model, ending=True)
    queries = [[encoding.finals.truth(prop)] for prop in props]
    if structure.test.filter is not None:
        kept = encoding.finals.truth(structure.test.filter)
        queries = [[*query, kept] for query in queries]
    encoding.settle()
    with Session(encoding.clauses, limits.deadline, limits.memory) as session:
        for query in queries:
            yield FALSE not in query and session.holds(query)


class _Search:
    def __init__(
        self,
        structure: Structure,
        model: Model,
        witnesses: bool,
        limits: Limits,
        tearing: bool,
        progress: Callable[[int], None] | None,
    ) -> None:
        self.structure = structure
        self.model = model
        self.witnesses = witnesses
        self.limits = limits
        self.tearing = tearing
        self.progress = progress
        self.states: dict[State, Execution | None] = {}
        self.flags: list[Finding] = []
        self.hanging_flags: list[Finding] = []
        self.outside: list[Finding] = []
        self.hangs: list[Hang] = []
        self.bound_reached = False
        self.statistics: dict[str, int] = {}

    def run(self) -> Outcome:
        undecided = None
        try:
            self._ask(analyse(self.structure))
        except OutOfTimeError as limit:
            undecided = str(limit)
        except KeyboardInterrupt:
            undecided = "it was interrupted"
        except MemoryError:
            undecided = "the memory limit was reached"
        return Outcome(
            self.states,
            tuple(self.flags),
            tuple(self.hanging_flags),
            tuple(dict.fromkeys(self.outside)),
            tuple(self.hangs),
            self.bound_reached,
            undecided,
            self.statistics,
        )

    def _encoding(self, domains: Domains, ending: bool) -> Encoding:
        return Encoding(self.structure, domains, self.model, ending, self.tearing, self.limits.deadline)

    def _ask(self, domains: Domains) -> None:
        """All questions, to one encoding; those about executions that end under the assumption that they do."""
        unended = self._unended(domains) if self.structure.blocking or self.structure.bounds else None
        encoding = self._encoding(domains, ending=True) if unended is None else unended.encoding
        test, finals, clauses = self.structure.test, encoding.finals, encoding.clauses
        options = [finals.of(term) for term in test.observed]
        given = [] if unended is None else [unended.ended]
        given += [] if test.filter is None else [finals.truth(test.filter)]
        raised = _any(encoding, encoding.flags)
        void = _by_name(encoding, encoding.outside)
        self.statistics["variables"] = clauses.variables
        encoding.settle()
        with Session(clauses, self.limits.deadline, self.limits.memory) as session:
            self.outside += _raised_by_name(session, encoding.outside, void)
            if FALSE not in given:
                self._enumerate(session, encoding, options, given)
                self.flags += _raised(session, encoding.flags, raised, given)
            if unended is not None and self._hangs(session, unended):
                self.hanging_flags += _raised(session, encoding.flags, raised, unended.hanging)
            self.statistics["checks"] = session.checks
        self.statistics["clauses"] = len(clauses.clauses)

    def _enumerate(
        self, session: Session, encoding: Encoding, options: Sequence[Choices], given: Sequence[int]
    ) -> None:
        for state, literals in enumerate_states(session, options, given):
            witness = None
            if self.witnesses:
                session.holds(literals)
                witness = read_execution(session, encoding.base, encoding.finals)
            self.states[state] = witness
            if self.progress is not None:
                self.progress(len(self.states))

    def _hangs(self, session: Session, unended: _Unended) -> bool:
        """Notes whether a loop bound cuts some execution, and one in which a thread stops for ever, if there is one."""
        if unended.cut != FALSE:
            self.bound_reached = session.holds([unended.cut])
        if FALSE in unended.hanging or not session.holds(unended.hanging):
            return False
        true = session.true_literals([x for x in unended.stops if x != FALSE])
        blocked = tuple(i for i, x in enumerate(unended.stops) if x in true)
        self.hangs.append(Hang(blocked, _polled(session, unended.encoding, blocked)))
        return True

    def _unended(self, domains: Domains) -> _Unended | None:
        """An encoding in which each thread ends, stops for ever or is cut by a loop bound; None where all end."""
        encoding = self._encoding(domains, ending=False)
        clauses, progress, structure = encoding.clauses, encoding.progress, self.structure
        stops = progress.stops()
        cuts = [progress.cut(b) for b in range(len(structure.bounds))]
        if all(x == FALSE for x in (*stops, *cuts)):
            return None
        for stop, point in zip(stops, structure.blocking):
            for read in point.polled if stop != FALSE else ():
                for clause in encoding.coherent_last(read):
                    clauses.require(-stop, *clause)
        ended = [progress.ended(thread) for thread in range(len(structure.ends))]
        for thread, end in enumerate(ended):
            own = [x for x, point in zip(stops, structure.blocking) if point.thread == thread]
            own += [x for x, bound in zip(cuts, structure.bounds) if bound.thread == thread]
            clauses.require(end, *own)
        cut = clauses.either(cuts)
        return _Unended(encoding, stops, clauses.both(ended), cut, [clauses.either(stops), -cut])


class _Unended(NamedTuple):
    """Executions that need not end. `stops`: of each blocking point that a thread stops there; `ended`: all end; `cut`:
    a loop bound cuts some thread; `hanging`: what together says that a thread stops and none is cut."""

    encoding: Encoding
    stops: list[int]
    ended: int
    cut: int
    hanging: list[int]


def _polled(session: Session, encoding: Encoding, blocked: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """What the spins that are never left read, in the session's last execution."""
    found = []
    for read in dict.fromkeys(r for point in blocked for r in encoding.structure.blocking[point].polled):
        value = encoding.structure.events[read].value
        assert value is not None
        table = encoding.reads.values.of(value)
        true = session.true_literals([x for x in table.values() if x not in (TRUE, FALSE)]) | {TRUE}
        found += [(read, number) for number, x in table.items() if x in true]
    return tuple(found)


def _any(encoding: Encoding, flags: Sequence[FlagLiteral]) -> int:
    """A literal that is true only if one of the flags is raised."""
    return encoding.clauses.disjunction([flag.literal for flag in flags], upper=False)


def _by_name(encoding: Encoding, flags: Sequence[FlagLiteral]) -> dict[str, int]:
    """For each name a literal that is true only if a flag of that name is raised; under "" of any name."""
    names = dict.fromkeys(flag.name for flag in flags if flag.literal != FALSE)
    found = {name: _any(encoding, [flag for flag in flags if flag.name == name]) for name in names}
    return {"": encoding.clauses.disjunction(found.values(), upper=False), **found}


def _raised(session: Session, flags: Sequence[FlagLiteral], one: int, given: Sequence[int]) -> list[Finding]:
    """All flags that some execution raises, under assumptions. `one`: a literal that is true only if one is."""
    possible = [flag for flag in flags if flag.literal != FALSE]
    if one == FALSE or not session.holds([*given, one]):
        return []
    found = session.true_literals([flag.literal for flag in possible])
    for flag in possible:
        if flag.literal not in found and session.holds([*given, flag.literal]):
            found |= session.true_literals([f.literal for f in possible])
    return _findings(possible, found)


def _raised_by_name(session: Session, flags: Sequence[FlagLiteral], names: Mapping[str, int]) -> list[Finding]:
    """Flags that some execution raises: those of one execution at least for each name."""
    possible = [flag for flag in flags if flag.literal != FALSE]
    raised: set[str] = set()
    found: set[int] = set()
    for name, literal in names.items():
        if name not in raised and literal != FALSE and session.holds([literal]):
            found |= session.true_literals([flag.literal for flag in possible])
            raised |= {flag.name for flag in possible if flag.literal in found}
        elif not name:
            break
    return _findings(possible, found)


def _findings(flags: Sequence[FlagLiteral], true: Set[int]) -> list[Finding]:
    return list(dict.fromkeys(Finding(f.name, tuple(sorted(f.events))) for f in flags if f.literal in true))
