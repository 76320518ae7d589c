"""`ld`, `st` and the abstract proxy accesses `tld suld cold sust` (ISA 9.7.10.8, 9.7.10.11)."""

from __future__ import annotations

from dataclasses import dataclass

from memcheck.errors import SourceError
from memcheck.ptx.decode.operands import SINK, Reader, register_bits
from memcheck.ptx.decode.words import FormError, LaterError, Qualifiers, Words, slots
from memcheck.ptx.instructions import Arithmetic, Instruction, Load, Store
from memcheck.ptx.operands import Immediate, Operand
from memcheck.ptx.qualifiers import Proxy, Scope, Sem, Space
from memcheck.ptx.raw import RawName, RawNumber
from memcheck.ptx.types import TYPES, ScalarType

LD_PAGE, ST_PAGE = "9.7.10.8", "9.7.10.11"

TYPE_WORDS = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"
_L1 = "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate"

COMMON = slots(
    scope="cta cluster gpu sys",
    vector="v2 v4 v8",
    type=TYPE_WORDS,
    l1=_L1,
    evict2="L2::evict_normal L2::evict_first L2::evict_last",
    policy="L2::cache_hint",
    mmio="mmio",
)
LD = COMMON | slots(
    sem="weak relaxed acquire volatile",
    space="global shared shared::cta shared::cluster const local param param::entry param::func",
    cop="ca cg cs lu cv",
    prefetch="L2::64B L2::128B L2::256B",
    nc="nc",
    readonly="proxy::readonly",
)
ST = COMMON | slots(
    sem="weak relaxed release volatile",
    space="global shared shared::cta shared::cluster local param param::func",
    cop="wb cg cs wt",
)
ABSTRACT = slots(sem="weak", type=TYPE_WORDS)
ABSTRACT_LOADS = {"tld": Proxy.TEXTURE, "suld": Proxy.SURFACE, "cold": Proxy.CONSTANT}
ABSTRACT_STORES = {"sust": Proxy.SURFACE}

NC_OPERATORS = ("ca", "cg", "cs")
WIDE = {"v8": ("b32", "u32", "s32", "f32"), "v4": ("b64", "u64", "s64", "f64")}
"""Types of the 256-bit vectors."""


@dataclass(frozen=True, slots=True)
class Access:
    """Words of a load or store, legal together."""

    load: bool
    type: ScalarType
    sem: Sem
    scope: Scope | None
    space: Space
    proxy: Proxy
    vector: int
    volatile: bool = False
    mmio: bool = False
    policy: bool = False
    plain: bool = False
    """`ld` with nothing but a type: of a number, it is a `mov`."""

    def build(self, at: Reader) -> Instruction:
        return self._load(at) if self.load else self._store(at)

    def _load(self, at: Reader) -> Instruction:
        at.count("d, [a], policy" if self.policy else "d, [a]", 3 if self.policy else 2)
        target, place = at.operands[0], at.operands[1]
        if self.plain and isinstance(place, RawNumber):
            destination = at.destination(target, register_bits(self.type), type=f".{self.type.name}")
            return Arithmetic(
                text=at.text,
                span=at.span,
                guard=at.guard,
                op="mov",
                type=self.type,
                destinations=(destination,),
                sources=(Immediate(place.value),),
            )
        destinations = tuple(
            None
            if self.vector > 1 and isinstance(e, RawName) and e.name == SINK
            else at.destination(e, register_bits(self.type), wider=True, type=f".{self.type.name}")
            for e in at.elements(target, self.vector)
        )
        if destinations.count(None) == len(destinations):
            raise SourceError(f"{at.opcode} must have a register to load into.", target.span)
        address = at.address(place, self.space, writes=self.sem is not Sem.WEAK)
        if self.policy:
            at.policy(2)
        return Load(
            text=at.text,
            span=at.span,
            guard=at.guard,
            destinations=destinations,
            address=address,
            type=self.type,
            sem=self.sem,
            scope=self.scope,
            space=self.space,
            proxy=self.proxy,
            volatile=self.volatile,
            mmio=self.mmio,
        )

    def _store(self, at: Reader) -> Instruction:
        at.count("[a], b, policy" if self.policy else "[a], b", 3 if self.policy else 2)
        address = at.address(at.operands[0], self.space, writes=True)
        masked = self.vector * self.type.bits == 256
        sources: tuple[Operand | None, ...] = tuple(
            None if masked and isinstance(e, RawName) and e.name == SINK else at.source(e, self.type, wider=True)
            for e in at.elements(at.operands[1], self.vector)
        )
        if self.policy:
            at.policy(2)
        return Store(
            text=at.text,
            span=at.span,
            guard=at.guard,
            address=address,
            sources=sources,
            type=self.type,
            sem=self.sem,
            scope=self.scope,
            space=self.space,
            proxy=self.proxy,
            volatile=self.volatile,
            mmio=self.mmio,
        )


def analyse(words: Words) -> Access:
    """The access that these words name; raises FormError."""
    load = words[0] == "ld"
    q = Qualifiers(words, 1, LD if load else ST, LD_PAGE if load else ST_PAGE)
    sem, scope, volatile = _semantics(q, load)
    space = q.space()
    _spaces(q, space)
    _caches(q, space)
    type = TYPES[q.get("type") or "b32"]
    vector = q.vector()
    _vector(q, type, vector, space)
    proxy = Proxy.GENERIC
    if q.has("nc"):
        proxy = Proxy.NONCOHERENT
    elif q.has("readonly"):
        proxy = Proxy.READONLY
    return Access(
        load=load,
        type=type,
        sem=sem,
        scope=scope,
        space=space,
        proxy=proxy,
        vector=vector,
        volatile=volatile,
        mmio=q.has("mmio"),
        policy=q.has("policy"),
        plain=load and set(q.found) <= {"type"},
    )


def analyse_abstract(words: Words) -> Access:
    """`tld suld cold sust`: weak accesses through another proxy (extension, ISA 8.1)."""
    name = words[0]
    load = name in ABSTRACT_LOADS
    q = Qualifiers(words, 1, ABSTRACT, "8.1")
    return Access(
        load=load,
        type=TYPES[q.get("type") or "b32"],
        sem=Sem.WEAK,
        scope=None,
        space=Space.GENERIC,
        proxy=ABSTRACT_LOADS[name] if load else ABSTRACT_STORES[name],
        vector=1,
    )


def _semantics(q: Qualifiers, load: bool) -> tuple[Sem, Scope | None, bool]:
    word, scope = q.get("sem"), q.scope()
    ordered = "acquire" if load else "release"
    if q.has("mmio"):
        q.exclude("mmio", ("vector", "cop", "l1", "evict2", "nc", "readonly"))
        if word not in ("relaxed", ordered):
            q.refuse(f".mmio needs .relaxed or .{ordered}", "mmio")
        if scope is not Scope.SYS:
            q.refuse(".mmio needs the scope .sys", "scope" if scope else "mmio")
        return Sem(word), Scope.SYS, False
    if word in (None, "weak", "volatile"):
        if scope is not None:
            strong = f"; a scope needs .relaxed or .{ordered}"
            q.refuse(f"{q.name}{'' if word is None else '.' + word} takes no scope{strong}", "scope")
        return (Sem.RELAXED, Scope.SYS, True) if word == "volatile" else (Sem.WEAK, None, False)
    if scope is None:
        q.refuse(f".{word} needs a scope: .cta, .cluster, .gpu or .sys", "sem")
    return Sem(word), scope, False


def _spaces(q: Qualifiers, space: Space) -> None:
    word = q.get("sem")
    weak = word in (None, "weak")
    if not weak and space in (Space.CONST, Space.PARAM):
        q.refuse(f".{word} does not go with .{q.get('space')}: nothing writes there", "space")
    if not weak and space is Space.LOCAL and word != "volatile":
        q.refuse(f".{word} does not go with .local, which is private to a thread", "space")
    if q.has("mmio") and space not in (Space.GLOBAL, Space.GENERIC):
        q.refuse(".mmio is for .global memory", "space")
    if q.has("nc"):
        if space is not Space.GLOBAL:
            q.refuse(".nc needs .global", "space" if q.has("space") else "nc")
        q.exclude("nc", ("sem", "scope"))
    if q.has("readonly"):
        if space not in (Space.GLOBAL, Space.GENERIC):
            q.refuse(".proxy::readonly is for .global memory or generic addresses", "space")
        q.exclude("readonly", ("sem", "scope", "cop", "l1", "evict2", "prefetch", "policy"))
        if q.get("type") == "b128":
            q.refuse(".proxy::readonly has no .b128", "type")


def _caches(q: Qualifiers, space: Space) -> None:
    strong = q.get("sem") not in (None, "weak")
    if strong and q.has("cop"):
        q.refuse(f".{q.get('cop')} is for weak accesses, not .{q.get('sem')}", "cop")
    if q.has("nc") and q.has("cop") and q.get("cop") not in NC_OPERATORS:
        q.refuse(f".{q.get('cop')} does not go with .nc", "cop")
    q.exclude("cop", ("l1",))
    if q.get("sem") == "volatile":
        q.exclude("sem", ("l1",))
    for hint in ("l1", "evict2", "prefetch", "policy"):
        if q.has(hint) and space not in (Space.GLOBAL, Space.GENERIC):
            q.refuse(f".{q.get(hint)} is for .global memory", hint)
    wide = WIDE.get(q.get("vector") or "")
    if q.has("evict2") and (wide is None or q.get("type") not in wide):
        q.refuse(f".{q.get('evict2')} needs .v8.b32 or .v4.b64", "evict2")


def _vector(q: Qualifiers, type: ScalarType, vector: int, space: Space) -> None:
    if vector == 1:
        if space in (Space.LOCAL, Space.PARAM):
            _private(q, space)
        return
    bits = vector * type.bits
    if bits > 128:
        if type.name not in WIDE.get(f"v{vector}", ()):
            q.refuse(f".v{vector}.{type.name} is wider than 128 bits", "vector")
        if space not in (Space.GLOBAL, Space.GENERIC):
            q.refuse(f".v{vector}.{type.name} is for .global memory", "space")
    if space in (Space.LOCAL, Space.PARAM):
        _private(q, space)


def _private(q: Qualifiers, space: Space) -> None:
    at = q.found["space"][0]
    if q.name == "st" and q.get("space") == "param::func":
        raise FormError(f"a kernel does not write to .param::func (ISA {q.page})", at)
    raise LaterError(f"{q.name}.{space.value} (memory that no other thread reaches)", at)
