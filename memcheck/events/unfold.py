"""A test to its event structure: every thread's events and values, then what only all threads together decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memcheck.errors import UnsupportedError
from memcheck.events import barriers, collectives
from memcheck.events.draft import UNKNOWN, Building, Draft, State
from memcheck.events.memory import lay_out
from memcheck.events.observed import looked_at
from memcheck.events.plan import Plan
from memcheck.events.structure import Event, GridOrder, Kind, Operation, Structure
from memcheck.events.substitution import CyclicPlaceholdersError, Substitution
from memcheck.events.value import Value
from memcheck.events.walk import Walk
from memcheck.language.test import Observable, RegisterTerm, Test, VariableKind


def unfold(test: Test, bound: int = 4, *, bytewise: bool = False) -> Structure:
    """The event structure of a test; loops that are no spins go round at most `bound` times.

    `bytewise`: reads take every byte apart from the others. SourceError where an access is statically wrong,
    UnsupportedError for what this version does not decide.
    """
    structure, draft = _pass(test, bound, bytewise)
    if not draft.operations:
        return structure
    from memcheck.events.pieces import survey, written_maps

    maps = written_maps(structure, draft.runs)
    if maps:
        structure, draft = _pass(test, bound, bytewise, Plan(maps))
    # what is wrong with a tensor map is said once it is known that nothing writes it
    if draft.runs or any("TMAP" in event.tags and event.operation is not None for event in structure.events):
        structure, draft = _pass(test, bound, bytewise, survey(structure, draft.runs, maps))
    return structure


def _pass(test: Test, bound: int, bytewise: bool, plan: Plan | None = None) -> tuple[Structure, Draft]:
    """The structure as far as `plan` tells how copies are cut; the draft has what the next pass must know."""
    draft = Draft(test, lay_out(test), plan=plan)
    true = draft.values.true
    draft.events.append(Event(0, -1, Kind.WRITE, None, true, tags=frozenset(("_", "W", "M", "IW"))))
    ends: list[State | None] = []
    for thread in test.threads:
        ends.append(Walk(draft, thread, bound).run())
    if draft.placeholders:
        ends = _settle(draft, ends)
    final: dict[Observable, Value] = {}
    for term in looked_at(test):
        if isinstance(term, RegisterTerm):
            width = test.threads[term.thread].widths.get(term.name, 32)
            end = ends[term.thread]
            zero = draft.values.const(0, width)
            final[term] = draft.values.zext(end.registers.get(term.name, zero), width) if end is not None else zero
            if UNKNOWN in final[term].support:
                raise _unknown(test, term)
    _note_uninitialised(draft)
    if any("TEST" in event.tags for event in draft.events):
        from memcheck.events.mbarriers import check_states

        check_states(draft)
    grouped = _grouped(draft)
    if draft.operations:
        from memcheck.events.unawaited import unawaited

        for remark in unawaited(draft, grouped):
            draft.note(remark)
    structure = Structure(
        test=test,
        values=draft.values,
        memory=draft.memory,
        events=tuple(draft.events),
        blocking=tuple(draft.blocking),
        bounds=tuple(draft.bounds),
        rendezvous=tuple(barriers.rendezvous(draft)) if draft.barriers else (),
        misuses=tuple(draft.misuses),
        ends=tuple(draft.values.false if end is None else end.guard for end in ends),
        final_registers=final,
        choice_domains=tuple(draft.choices),
        control=draft.control,
        address_sources=draft.address_taint,
        data_sources=draft.data_taint,
        notes=tuple(draft.notes),
        operations=tuple(map(_finished, draft.operations)),
        grouped=grouped,
        grids=_grids(test),
        bytewise=bytewise,
    )
    return structure, draft


def _unknown(test: Test, term: RegisterTerm) -> UnsupportedError:
    """For an observed register without a value."""
    body = test.threads[term.thread].body
    place = next(i for i in body if any(r.name == term.name for r in getattr(i, "accumulators", ())))
    message = f"{test.key(term)} is observed, and it is a result of this wgmma, whose value is not modelled."
    return UnsupportedError(message, place.span)


def _grouped(draft: Draft) -> Mapping[tuple[int, int], Value]:
    if not draft.waits:
        return {}
    from memcheck.events.groups import grouped

    return grouped(draft)


def _grids(test: Test) -> tuple[GridOrder, ...]:
    if not test.grid_orders:
        return ()
    from memcheck.events.grids import orders

    return orders(test)


def _finished(building: Building) -> Operation:
    return Operation(
        building.index,
        building.thread,
        building.instruction,
        building.after,
        tuple(building.events),
        tuple(building.within),
        tuple(building.complete),
    )


def _note_uninitialised(draft: Draft) -> None:
    """Remarks on variables that are read, and that neither a declaration nor any store gives a value (8.2.6)."""
    test = draft.test
    open_names = [v.name for v in test.variables.values() if not v.initialised and v.aliases is None]
    if not open_names:
        return
    stored: set[str] = set()
    read: set[str] = set()
    for event in draft.events[1:]:
        if event.address is None or event.rmw is not None or "MBAR" in event.tags:
            continue
        if not event.address.is_const:
            return
        physical = draft.memory.physical(event.address.payload, event.size)
        names = {region.variable for region in draft.memory.at(physical)} if physical is not None else set()
        (read if event.kind is Kind.READ else stored).update(names)
    for name in open_names:
        if name in read - stored and test.variables[name].kind is VariableKind.DATA:
            draft.note(f"{name} is read, and nothing gives it a value: its bytes are taken to be 0 (8.2.6)")


def _settle(draft: Draft, ends: list[State | None]) -> list[State | None]:
    """Puts the results that other threads decide into everything built so far."""
    replaced = {**barriers.reductions(draft), **collectives.resolve(draft)}
    settle = Substitution(draft.values, replaced)
    try:
        for i, event in enumerate(draft.events):
            draft.events[i] = replace(
                event,
                guard=settle(event.guard),
                address=None if event.address is None else settle(event.address),
                value=None if event.value is None else settle(event.value),
                marks=None if event.marks is None else {name: settle(when) for name, when in event.marks.items()},
            )
        draft.blocking = [
            replace(p, guard=settle(p.guard), passed=None if p.passed is None else settle(p.passed))
            for p in draft.blocking
        ]
        draft.bounds = [replace(b, reached=settle(b.reached)) for b in draft.bounds]
        misuses = [replace(m, condition=settle(m.condition)) for m in draft.misuses]
        draft.misuses = [m for m in misuses if m.condition is not draft.values.false]
        for use in draft.barriers:
            use.id = settle(use.id)
            use.count = None if use.count is None else settle(use.count)
            use.source = None if use.source is None else settle(use.source)
        for commit in draft.commits:
            commit.guard = settle(commit.guard)
        settled: list[State | None] = []
        for end in ends:
            if end is not None:
                names = {name: settle(value) for name, value in end.registers.items()}
                end = State(end.path, settle(end.guard), names, end.taints, end.control)
            settled.append(end)
    except CyclicPlaceholdersError:
        instruction = (draft.collectives or draft.barriers)[0].instruction
        message = "collectives whose results need each other are not supported"
        raise UnsupportedError(f"{message}: {instruction.text}", instruction.span) from None
    return settled
