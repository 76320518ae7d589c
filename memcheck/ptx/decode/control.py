"""Branches, ends of threads, and instructions without events: hints and waits for time (ISA 9.7.14, 9.7.10.16 ff)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.decode.arithmetic import first_width
from memcheck.ptx.decode.operands import Reader
from memcheck.ptx.decode.words import FormError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Branch, Exit, Instruction, Nop
from memcheck.ptx.qualifiers import Space
from memcheck.ptx.raw import RawName, RawNumber, RawOperand
from memcheck.ptx.types import TYPES

BRANCH_PAGE, EXIT_PAGE, NANOSLEEP_PAGE = "9.7.14.3", "9.7.14.6", "9.7.21.2"
COMPARES = {"beq": "eq", "bne": "ne", "blt": "lt", "ble": "le", "bgt": "gt", "bge": "ge"}

HINTS = {
    "prefetch": (
        "9.7.10.16",
        slots(
            space="global local const param",
            level="L1 L2 L2::evict_last L2::evict_normal tensormap",
        ),
    ),
    "prefetchu": ("9.7.10.16", slots(level="L1")),
    "applypriority": ("9.7.10.17", slots(space="global", level="L2::evict_normal")),
}


@dataclass(frozen=True, slots=True)
class BranchForm:
    """`bra L`, `goto L`, `beq a, b, L`."""

    compare: str | None = None

    def build(self, at: Reader) -> Instruction:
        if self.compare is None:
            at.count("LABEL", 1)
            return Branch(text=at.text, span=at.span, guard=at.guard, target=_label(at, at.operands[0]))
        at.count("a, b, LABEL", 3)
        width = first_width(at, at.operands[:2])
        type = TYPES.get(f"u{width}")
        if type is None:
            raise SourceError(f"{at.opcode} compares 16, 32 or 64 bits, not {width}.", at.span, "use setp and @p bra")
        left, right = at.source(at.operands[0], type), at.source(at.operands[1], type)
        target = _label(at, at.operands[2])
        return Branch(text=at.text, span=at.span, guard=at.guard, target=target, compare=(self.compare, left, right))


def _label(at: Reader, operand: RawOperand) -> str:
    labels = at.names.labels()
    if not isinstance(operand, RawName) or operand.percent or operand.negated:
        raise SourceError(f"{at.opcode} goes to a label.", operand.span)
    if operand.name not in labels:
        from difflib import get_close_matches

        near = get_close_matches(operand.name, labels, 1, 0.5)
        raise SourceError(
            f"This thread has no label {operand.name}.",
            operand.span,
            f"nearest: {near[0]}" if near else "labels are local to their thread: LC00:",
        )
    return operand.name


@dataclass(frozen=True, slots=True)
class ExitForm:
    def build(self, at: Reader) -> Instruction:
        at.count("alone", 0)
        return Exit(text=at.text, span=at.span, guard=at.guard)


@dataclass(frozen=True, slots=True)
class SleepForm:
    """`nanosleep.u32 t`."""

    def build(self, at: Reader) -> Instruction:
        at.count("t", 1)
        at.word(at.operands[0])
        return Nop(text=at.text, span=at.span, guard=at.guard)


@dataclass(frozen=True, slots=True)
class HintForm:
    """A hint about an address, and for applypriority its size."""

    space: Space
    sized: bool

    def build(self, at: Reader) -> Instruction:
        at.count("[a], 128" if self.sized else "[a]", 2 if self.sized else 1)
        at.address(at.operands[0], self.space)
        size = at.operands[-1]
        if self.sized and not (isinstance(size, RawNumber) and size.value == 128):
            raise SourceError(f"{at.opcode} covers exactly 128 bytes.", size.span, "write 128")
        return Nop(text=at.text, span=at.span, guard=at.guard)


def analyse_branch(words: Words) -> BranchForm:
    """bra, goto, beq and the like; raises FormError."""
    Qualifiers(words, 1, slots(uni="uni") if words[0] == "bra" else {}, BRANCH_PAGE)
    return BranchForm(COMPARES.get(words[0]))


def analyse_exit(words: Words) -> ExitForm:
    Qualifiers(words, 1, slots(uni="uni") if words[0] == "ret" else {}, EXIT_PAGE)
    return ExitForm()


def analyse_sleep(words: Words) -> SleepForm:
    Qualifiers(words, 1, slots(type="u32"), NANOSLEEP_PAGE)
    return SleepForm()


def analyse_hint(words: Words) -> HintForm:
    page, allowed = HINTS[words[0]]
    q = Qualifiers(words, 1, allowed, page)
    level = q.get("level")
    if level is None:
        levels = [w for w, slot in allowed.items() if slot == "level"]
        q.refuse(f"{words[0]} needs .{' or .'.join(levels)}")
    space = q.space()
    if level == "tensormap":
        if space not in (Space.GENERIC, Space.CONST, Space.PARAM):
            q.refuse("prefetch.tensormap is for .const, .param or generic addresses", "space")
    elif space in (Space.CONST, Space.PARAM):
        q.refuse(f"prefetch.{level} is for .global, .local or generic addresses", "space")
    elif level.startswith("L2::") and space is Space.LOCAL:
        raise FormError(f"prefetch.{level} is for .global memory (ISA {page})", q.found["space"][0])
    return HintForm(space, words[0] == "applypriority")
