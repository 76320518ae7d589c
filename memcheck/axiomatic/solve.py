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
            domains = analyse(self.structure)
            self._ending(domains)
            if self.structure.blocking or self.structure.bounds:
                self._hanging(domains)
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

    def _encoding(self, domains: Domains, ending: bool, remarks: bool = True) -> Encoding:
        return Encoding(self.structure, domains, self.model, ending, self.tearing, remarks, self.limits.deadline)

    def _session(self, encoding: Encoding) -> Session:
        encoding.settle()
        return Session(encoding.clauses, self.limits.deadline, self.limits.memory)

    def _ending(self, domains: Domains) -> None:
        encoding = self._encoding(domains, ending=True)
        test, finals = self.structure.test, encoding.finals
        options = [finals.of(term) for term in test.observed]
        given = [] if test.filter is None else [finals.truth(test.filter)]
        raised = _any(encoding, encoding.flags)
        void = _by_name(encoding, encoding.outside)
        self.statistics["variables"] = encoding.clauses.variables
        with self._session(encoding) as session:
            self.outside += _raised_by_name(session, encoding.outside, void, [])
            self._enumerate(session, encoding, options, given)
            if FALSE not in given:
                self.flags += _raised(session, encoding.flags, raised, given)
            self.statistics["checks"] = session.checks
        self.statistics["clauses"] = len(encoding.clauses.clauses)

    def _enumerate(
        self, session: Session, encoding: Encoding, options: Sequence[Choices], given: Sequence[int]
    ) -> None:
        for state, literals in enumerate_states(session, options, given) if FALSE not in given else ():
            witness = None
            if self.witnesses:
                session.holds(literals)
                witness = read_execution(session, encoding.base, encoding.finals)
            self.states[state] = witness
            if self.progress is not None:
                self.progress(len(self.states))

    def _hanging(self, domains: Domains) -> None:
        """Executions in which some thread stops for ever or is cut by a loop bound."""
        unended = self._unended(domains, remarks=False)
        if unended is None:
            return
        encoding, stops, any_stop, any_cut = unended
        either = encoding.clauses.either((any_stop, any_cut))
        void = _by_name(encoding, encoding.outside)
        hangs = False
        with self._session(encoding) as session:
            if any_cut != FALSE:
                self.bound_reached = session.holds([any_cut])
            if any_stop != FALSE and any_cut != TRUE and session.holds([any_stop, -any_cut]):
                hangs = True
                true = session.true_literals([x for x in stops if x != FALSE])
                blocked = tuple(i for i, x in enumerate(stops) if x in true)
                self.hangs.append(Hang(blocked, _polled(session, encoding, blocked)))
            self.outside += _raised_by_name(session, encoding.outside, void, [either])
        if hangs:
            self._hanging_flags(domains)

    def _hanging_flags(self, domains: Domains) -> None:
        """Flags of executions that hang; most tests have no such execution, and flags are what costs most."""
        unended = self._unended(domains, remarks=True)
        assert unended is not None
        encoding, _, any_stop, any_cut = unended
        raised = _any(encoding, encoding.flags)
        with self._session(encoding) as session:
            self.hanging_flags += _raised(session, encoding.flags, raised, [any_stop, -any_cut])

    def _unended(self, domains: Domains, remarks: bool) -> tuple[Encoding, list[int], int, int] | None:
        """An encoding of executions that need not end; literals of each stop, any stop, any cut. None: all end."""
        encoding = self._encoding(domains, ending=False, remarks=remarks)
        clauses, progress, structure = encoding.clauses, encoding.progress, self.structure
        stops = progress.stops()
        cuts = [progress.cut(b) for b in range(len(structure.bounds))]
        if all(x == FALSE for x in (*stops, *cuts)):
            return None
        for stop, point in zip(stops, structure.blocking):
            for read in point.polled if stop != FALSE else ():
                for clause in encoding.coherent_last(read):
                    clauses.require(-stop, *clause)
        for thread in range(len(structure.ends)):
            own = [x for x, point in zip(stops, structure.blocking) if point.thread == thread]
            own += [x for x, bound in zip(cuts, structure.bounds) if bound.thread == thread]
            clauses.require(progress.ended(thread), *own)
        return encoding, stops, clauses.either(stops), clauses.either(cuts)


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


def _raised_by_name(
    session: Session, flags: Sequence[FlagLiteral], names: Mapping[str, int], given: Sequence[int]
) -> list[Finding]:
    """Flags that some execution raises, under assumptions: those of one execution at least for each name."""
    possible = [flag for flag in flags if flag.literal != FALSE]
    raised: set[str] = set()
    found: set[int] = set()
    for name, literal in names.items():
        if name not in raised and literal != FALSE and session.holds([*given, literal]):
            found |= session.true_literals([flag.literal for flag in possible])
            raised |= {flag.name for flag in possible if flag.literal in found}
        elif not name:
            break
    return _findings(possible, found)


def _findings(flags: Sequence[FlagLiteral], true: Set[int]) -> list[Finding]:
    return list(dict.fromkeys(Finding(f.name, tuple(sorted(f.events))) for f in flags if f.literal in true))
