"""The symbolic execution of one thread: states merged where paths meet, spins cut to one round, other loops unrolled.

A point of a thread is a pair (instruction, rounds of the loops around it). Points are visited in an order in which
every edge goes forward, so all the states that reach a point are there when it is visited. A spin (a loop that only
reads and carries nothing round) is visited once: that is its last round, its exit is the blocking point's `passed`.
Where a round that fails may be misuse, of an mbarrier that is none yet or no longer, one such round comes before it.
Other loops go round `bound` times; beyond, the execution is cut and a LoopBound says under which condition.
"""

from __future__ import annotations

import heapq

from memcheck.events import access, arithmetic, barriers, collectives, paths, registers
from memcheck.events.draft import NO_TAINT, Draft, Handler, State, Step
from memcheck.events.loops import Loop, Loops, find_loops
from memcheck.events.paths import Path
from memcheck.events.structure import BlockingPoint, Kind, LoopBound
from memcheck.events.substitution import Substitution
from memcheck.events.value import Value
from memcheck.language.test import Thread
from memcheck.ptx import instructions as ptx

HANDLERS: dict[type[ptx.Instruction], Handler] = {
    ptx.Load: access.load,
    ptx.Store: access.store,
    ptx.Atom: access.atom,
    ptx.Multimem: access.multimem,
    ptx.Fence: access.fence,
    ptx.ProxyFence: access.proxy_fence,
    ptx.Barrier: barriers.barrier,
    ptx.ClusterBarrier: barriers.cluster_barrier,
    ptx.WarpBarrier: barriers.warp_barrier,
    ptx.Collective: collectives.collective,
    ptx.Arithmetic: registers.arithmetic_instruction,
    ptx.Nop: lambda _step: None,
}
"""What the synchronous instructions do; `asynchronous` has the others, and is imported for tests with such."""


def handler_of(kind: type[ptx.Instruction]) -> Handler | None:
    """What an instruction does; None for legal PTX that this version does not decide."""
    found = HANDLERS.get(kind)
    if found is None:
        from memcheck.events.asynchronous import HANDLERS as ASYNCHRONOUS

        found = ASYNCHRONOUS.get(kind)
    if found is None:
        from memcheck.events.tensorial import HANDLERS as TENSORIAL

        found = TENSORIAL.get(kind)
    return found


Node = tuple[int, tuple[int, ...]]
"""An instruction and the rounds so far of the loops around it, outermost first."""


class _Spin:
    """A spin while its one round is visited."""

    def __init__(self, loop: Loop, node: Node, entry: State, mark: tuple[int, ...]) -> None:
        self.loop = loop
        self.node = node
        self.entry = entry
        self.mark = mark
        self.backs: list[State] = []
        self.exits: list[tuple[Node, State]] = []

    def holds(self, node: Node) -> bool:
        rounds = self.node[1]
        return node[0] in self.loop and node[1][: len(rounds)] == rounds


class Walk:
    """The symbolic execution of one thread."""

    def __init__(self, draft: Draft, thread: Thread, bound: int) -> None:
        self.draft = draft
        self.values = draft.values
        self.thread = thread
        self.bound = bound
        self.end = len(thread.body)
        self.loops = Loops((), ())
        self.heap: list[tuple[tuple[int, ...], Node]] = []
        self.waiting: dict[Node, list[State]] = {}
        self.spins: list[_Spin] = []
        self.unrolled: set[Node] = set()
        """Loops that looked like spins and are none: their heads, with the rounds of the loops around them."""

    def initial(self) -> State:
        draft, thread = self.draft, self.thread
        state = State((), self.values.true, {}, {}, NO_TAINT)
        if thread.initial:
            nothing = ptx.Nop(text="", span=thread.span)
            step = Step(draft, thread, state, nothing)
            for name, operand in thread.initial.items():
                state.registers[name] = step.operand(operand, thread.widths.get(name, 32))
        return state

    def run(self) -> State | None:
        """Visits everything; the state at the thread's end, None where it cannot end."""
        body = self.thread.body
        if self.draft.test.grid_orders:
            from memcheck.events.grids import start

            start(self.draft, self.thread)
        state = self.initial()
        if not any(isinstance(instruction, ptx.Branch | ptx.Exit) for instruction in body):
            for instruction in body:
                self.perform(state, instruction)
            return state
        self.loops = find_loops(self.draft.test, self.thread)
        self.enqueue((0, (0,) * len(self.loops.around[0])), state)
        end: State | None = None
        while self.heap or self.spins:
            if self.spins and not (self.heap and self.spins[-1].holds(self.heap[0][1])):
                self.finish(self.spins.pop())
                continue
            _, node = heapq.heappop(self.heap)
            state = self.merge(self.waiting.pop(node))
            if node[0] == self.end:
                end = state
            else:
                self.visit(node, state)
        return end

    def perform(self, state: State, instruction: ptx.Instruction) -> None:
        self.draft.spinning = bool(self.spins)
        handler = handler_of(type(instruction))
        assert handler is not None
        step = Step(self.draft, self.thread, state, instruction)
        if step.guard is not self.values.false:
            before = len(self.draft.misuses)
            handler(step)
            self.draft.unname(before)

    def visit(self, node: Node, state: State) -> None:
        pc, rounds = node
        around = self.loops.around[pc]
        if around and pc == around[-1].start and self.starts_spin(around[-1], node):
            self.spins.append(_Spin(around[-1], node, state.copy(), self.draft.mark()))
        instruction = self.thread.body[pc]
        if isinstance(instruction, ptx.Branch | ptx.Exit):
            self.branch(node, state, instruction)
        else:
            self.perform(state, instruction)
            self.edge(node, pc + 1, state)

    def starts_spin(self, loop: Loop, node: Node) -> bool:
        """Whether the last round of a spin begins at its head."""
        pc, rounds = node
        if not loop.spin or (pc, rounds[:-1]) in self.unrolled:
            return False
        first = rounds[-1] == 0 and self.bound > 0
        return not (first and loop.polls_no_object)

    def branch(self, node: Node, state: State, instruction: ptx.Branch | ptx.Exit) -> None:
        step = Step(self.draft, self.thread, state, instruction)
        condition, taint = step.predicate, step.predicate_taint
        target = self.end
        if isinstance(instruction, ptx.Branch):
            target = self.thread.labels[instruction.target]
            if instruction.compare is not None:
                op, left, right = instruction.compare
                widths = [o.width for o in (left, right) if hasattr(o, "width")]
                a, b = (step.operand(o, max(widths, default=32)) for o in (left, right))
                condition = self.values.both(condition, arithmetic.compare(self.values, op, a, b, signed=True))
                taint = taint | step.taint(left, right)
        state.control = state.control | taint
        taken = self.constrain(state, condition)
        passed = self.constrain(state, self.values.negate(condition))
        if taken is not None:
            self.edge(node, target, taken)
        if passed is not None:
            self.edge(node, node[0] + 1, passed)

    def constrain(self, state: State, literal: Value) -> State | None:
        """A copy of the state under one more condition."""
        path = paths.extend(self.values, state.path, literal)
        if path is None:
            return None
        result = state.copy()
        if path is not state.path:
            result.path = path
            result.guard = self.values.both(state.guard, literal)
        return result

    def edge(self, node: Node, target: int, state: State) -> None:
        """Control goes from a point to an instruction: forward, out of loops, or round one."""
        pc, rounds = node
        before, after = self.loops.around[pc], self.loops.around[target]
        kept = sum(1 for a, b in zip(before, after, strict=False) if a is b)
        counters = list(rounds[:kept])
        if target <= pc:
            loop = self.loops.closing(pc, target)
            depth = before.index(loop)
            spin = self.spin_at(loop, rounds[: depth + 1])
            if spin is not None:
                spin.backs.append(state)
                return
            if rounds[depth] >= self.bound:
                self.draft.bounds.append(LoopBound(self.thread.index, state.guard, self.thread.body[pc]))
                return
            counters = [*rounds[:depth], rounds[depth] + 1]
        counters += [0] * (len(after) - len(counters))
        self.enqueue((target, tuple(counters)), state)

    def spin_at(self, loop: Loop, rounds: tuple[int, ...]) -> _Spin | None:
        for spin in self.spins:
            if spin.loop is loop and spin.node[1] == rounds:
                return spin
        return None

    def enqueue(self, node: Node, state: State) -> None:
        if self.spins and not self.spins[-1].holds(node):
            self.spins[-1].exits.append((node, state))
            return
        states = self.waiting.get(node)
        if states is not None:
            states.append(state)
            return
        self.waiting[node] = [state]
        heapq.heappush(self.heap, (self.order(node), node))

    def order(self, node: Node) -> tuple[int, ...]:
        """Sorts points so that every edge goes forward: loop by loop, round by round."""
        pc, rounds = node
        key: list[int] = []
        for loop, round in zip(self.loops.around[pc], rounds, strict=True):
            key += (loop.start, round)
        return (*key, pc)

    def finish(self, spin: _Spin) -> None:
        """The round is complete: its exits go on as if it were certain that one is taken."""
        draft, values = self.draft, self.values
        depth = len(spin.entry.path)
        backs = [state.path[depth:] for state in spin.backs]
        again = values.false
        for path in backs:
            again = values.either(again, paths.conjunction(values, path))
        if not self.only_reads(spin, again):
            draft.reset(spin.mark)
            pc, rounds = spin.node
            self.unrolled.add((pc, rounds[:-1]))
            self.enqueue(spin.node, spin.entry)
            return
        if again is not values.false:
            first = spin.mark[0]
            polled = tuple(e.index for e in draft.events[first:] if e.kind is Kind.READ)
            passed = values.negate(again)
            draft.blocking.append(BlockingPoint(self.thread.index, spin.entry.guard, len(draft.events), passed, polled))
        kept = paths.contract(values, [state.path[depth:] for _, state in spin.exits], backs)
        for (node, state), path in zip(spin.exits, kept, strict=True):
            state.path = spin.entry.path + path
            state.guard = values.both(spin.entry.guard, paths.conjunction(values, path))
            if spin.backs:
                state.control = state.control.union(*(back.control for back in spin.backs))
            self.enqueue(node, state)

    def only_reads(self, spin: _Spin, again: Value) -> bool:
        """Whether every cas of the round fails when the loop goes round: its value cannot then be the one compared."""
        if again is self.values.false:
            return True
        for event in self.draft.events[spin.mark[0] :]:
            if event.kind is Kind.WRITE:
                read = self.draft.events[event.rmw or 0]
                assert read.value is not None
                success = event.guard
                if self.values.both(success, again) is self.values.false:
                    continue
                compared = self._compared(success, read.value)
                if compared is None or read.index in compared.support:
                    return False
                if Substitution(self.values, {read.value: compared})(again) is not self.values.false:
                    return False
        return True

    @staticmethod
    def _compared(success: Value, read: Value) -> Value | None:
        """The other side of `read == other` among the conjuncts of a cas's success."""
        pending = [success]
        while pending:
            value = pending.pop()
            if value.op == "and" and value.width == 1:
                pending += value.args
            elif value.op == "eq" and read in value.args:
                return value.args[1] if value.args[0] is read else value.args[0]
            elif value.op == "eq" and value.width == 1 and read.width == 1 and value is read:
                return None
        return None

    def merge(self, states: list[State]) -> State:
        """The state of a point that several paths reach: registers by the condition that tells the paths apart."""
        left = states
        while len(left) > 1:
            # the two paths that part last
            i, j = max(
                ((i, j) for i in range(len(left)) for j in range(i + 1, len(left))),
                key=lambda pair: paths.common_prefix(left[pair[0]].path, left[pair[1]].path),
            )
            both = self.merge_two(left[i], left[j])
            left = [state for k, state in enumerate(left) if k not in (i, j)] + [both]
        return left[0]

    def merge_two(self, a: State, b: State) -> State:
        values = self.values
        shared = paths.common_prefix(a.path, b.path)
        if len(b.path) < len(a.path):
            a, b = b, a
        path: Path = paths.join(values, a.path, b.path)
        condition = paths.conjunction(values, a.path[shared:])
        registers: dict[str, Value] = {}
        taints: dict[str, frozenset[int]] = {}
        for name in a.registers.keys() | b.registers.keys():
            x, y = a.registers.get(name), b.registers.get(name)
            if x is None or y is None:
                known = x if x is not None else y
                assert known is not None
                zero = values.const(0, known.width)
                x, y = x if x is not None else zero, y if y is not None else zero
            registers[name] = values.ite(condition, x, y)
            taint = a.taints.get(name, NO_TAINT) | b.taints.get(name, NO_TAINT)
            if taint:
                taints[name] = taint
        guard = a.guard if path == a.path else paths.conjunction(values, path)
        return State(path, guard, registers, taints, a.control | b.control)
