"""Syntax tree to `Model`: names found, functions expanded, kinds checked, expressions shared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memcheck.cat.options import OPTIONS, check_options, suggestion
from memcheck.cat.parse import parse
from memcheck.cat.tree import Assertion, Binding, File, Form, Include, Let, Show, Term
from memcheck.cat.walk import check_monotone, orders_writes, reachable
from memcheck.errors import SourceError
from memcheck.events.vocabulary import VOCABULARY
from memcheck.relations.expression import (
    Axiom,
    Definition,
    Expr,
    Expressions,
    ExprKind,
    Model,
    Op,
    RecursiveGroup,
)
from memcheck.source import SourceFile, Span

SET, RELATION = ExprKind.SET, ExprKind.RELATION

MAX_EXPR_DEPTH = 200
"""Depth of an expression with all names and functions expanded; evaluators recurse over it."""

MAX_INCLUDES = 32

_BUILTIN = ("domain", "range", "from-read", "emptyset")


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function with the scope it was defined in."""

    binding: Binding
    scope: Mapping[str, Named]


@dataclass(frozen=True, slots=True, eq=False)
class Zero:
    """The empty set or relation whose kind the context has not told yet."""


Named = Expr | Zero | Function
Meaning = Expr | Zero


def parse_model(source: SourceFile, options: Iterable[str] = (), library: Path | None = None) -> Model:
    """The model that a cat text defines. `library`: where includes are looked up besides the text's own folder."""
    chosen = frozenset(options)
    check_options(chosen)
    elaborator = _Elaborator(chosen, library)
    file = parse(source)
    elaborator.read(file, source)
    return elaborator.model(file, source)


class _Elaborator:
    def __init__(self, options: frozenset[str], library: Path | None) -> None:
        self.options = options
        self.library = library
        self.expressions = Expressions()
        self.depth: dict[Expr, int] = {}
        self.scope: dict[str, Named] = {}
        self.calls: dict[tuple[Function, tuple[Meaning, ...]], Meaning] = {}
        self.calling: list[Function] = []
        self.definitions: list[Definition] = []
        self.axioms: list[Axiom] = []
        self.flags: list[Axiom] = []
        self.shows: list[str] = []
        self.including: list[str] = []
        self.zero = Zero()
        for name, entry in VOCABULARY.items():
            self.scope[name] = self.node(Op.BASE, entry.kind, name=name)

    def model(self, file: File, source: SourceFile) -> Model:
        base = self.node(Op.BASE, RELATION, name="co")
        coherence = next((d.expr for d in reversed(self.definitions) if d.name == "coherence"), base)
        used = reachable([a.expr for a in self.axioms] + [f.expr for f in self.flags] + [coherence])
        return Model(
            name=Path(source.name).stem,
            path=source.name,
            title=file.title,
            definitions=tuple(self.definitions),
            axioms=tuple(self.axioms),
            flags=tuple(self.flags),
            shows=tuple(self.shows),
            coherence=coherence,
            names=frozenset(e.name for e in used if e.op is Op.BASE),
        )

    # -- nodes ------------------------------------------------------------------------------------------------------

    def node(self, op: Op, kind: ExprKind, *args: Expr, name: str = "", span: Span | None = None) -> Expr:
        made = self.expressions.node(op, kind, *args, name=name)
        if made not in self.depth:
            depth = self.depth[made] = 1 + max((self.depth[arg] for arg in args), default=0)
            if depth > MAX_EXPR_DEPTH and span is not None:
                message = f"with its names expanded this is more than {MAX_EXPR_DEPTH} operators deep"
                raise SourceError(message, span)
        return made

    def settle(self, meaning: Meaning, kind: ExprKind = RELATION) -> Expr:
        return self.node(Op.EMPTY, kind) if isinstance(meaning, Zero) else meaning

    # -- statements -------------------------------------------------------------------------------------------------

    def read(self, file: File, source: SourceFile) -> None:
        for statement in file.statements:
            match statement:
                case Let():
                    self.let(statement, file)
                case Assertion():
                    self.assertion(statement, file)
                case Include():
                    self.include(statement, source)
                case Show():
                    self.show(statement)

    def let(self, statement: Let, file: File) -> None:
        if statement.recursive:
            self.let_rec(statement, file)
            return
        found: list[tuple[Binding, Named]] = []
        for binding in statement.bindings:
            if binding.params is None:
                found.append((binding, self.term(binding.body, self.scope)))
            else:
                found.append((binding, self.function(binding)))
        for binding, meaning in found:
            self.define(binding, meaning, file)

    def define(self, binding: Binding, meaning: Named, file: File) -> None:
        self.scope[binding.name] = meaning
        if not isinstance(meaning, Function):
            comment = _comment(file, binding.span)
            self.definitions.append(Definition(binding.name, self.settle(meaning), binding.span, comment))

    def function(self, binding: Binding) -> Function:
        return Function(binding, dict(self.scope))

    def let_rec(self, statement: Let, file: File) -> None:
        for binding in statement.bindings:
            if binding.params is not None:
                raise SourceError("a function cannot be recursive", binding.span, "leave out its parameters, or `rec`")
        group = RecursiveGroup(tuple(b.name for b in statement.bindings))
        kinds = self.recursive_kinds(statement.bindings)
        scope = dict(self.scope)
        names = [self.expressions.recursive(group, index, kind) for index, kind in enumerate(kinds)]
        for binding, name in zip(statement.bindings, names, strict=True):
            self.depth[name] = 1
            scope[binding.name] = name
        bodies = []
        for binding, kind in zip(statement.bindings, kinds, strict=True):
            body = self.settle(self.term(binding.body, scope), kind)
            if body.kind is not kind:
                raise SourceError(
                    f"`{binding.name}` is used as a {kind.value} but is a {body.kind.value}", binding.span
                )
            bodies.append(body)
        group.bodies = tuple(bodies)
        for binding, body in zip(statement.bindings, bodies, strict=True):
            wrong = check_monotone(body, group)
            if wrong is not None:
                raise SourceError(
                    f"`{wrong}` is defined by what it is not: its least fixed point need not exist",
                    binding.span,
                    "a recursive name must not stand under `~` or to the right of `\\`",
                )
        deepest = max(self.depth[body] for body in bodies)
        for binding, name in zip(statement.bindings, names, strict=True):
            self.depth[name] = deepest
            self.define(binding, name, file)

    def recursive_kinds(self, bindings: tuple[Binding, ...]) -> list[ExprKind]:
        """Kinds of names bound together: what their bodies say while the unknown ones count as empty."""
        scope: dict[str, Named] = {**self.scope, **{b.name: self.zero for b in bindings}}
        known: dict[str, ExprKind] = {}
        for _ in bindings:
            before = len(known)
            for binding in bindings:
                if binding.name in known:
                    continue
                meaning = self.term(binding.body, scope)
                if isinstance(meaning, Expr):
                    known[binding.name] = meaning.kind
                    scope[binding.name] = self.node(Op.EMPTY, meaning.kind)
            if len(known) == before:
                break
        return [known.get(b.name, RELATION) for b in bindings]

    def assertion(self, statement: Assertion, file: File) -> None:
        expr = self.settle(self.term(statement.body, self.scope))
        word = statement.test.value
        if expr.kind is SET and word != "empty":
            raise SourceError(f"`{word}` is about a relation, and this is a set", statement.body.span)
        name = statement.name or f"{word}-{statement.span.line}"
        comment = _comment(file, statement.span)
        axiom = Axiom(statement.test, statement.negated, expr, name, statement.span, comment)
        (self.flags if statement.flag else self.axioms).append(axiom)

    def include(self, statement: Include, source: SourceFile) -> None:
        folders = [Path(source.name).parent] + ([self.library] if self.library else [])
        path = next((f / statement.path for f in folders if (f / statement.path).is_file()), None)
        if path is None:
            raise SourceError(f"there is no file `{statement.path}` to include", statement.span)
        if str(path.resolve()) in self.including or len(self.including) >= MAX_INCLUDES:
            raise SourceError(f"`{statement.path}` includes itself", statement.span)
        try:
            inner = SourceFile(str(path), path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"`{statement.path}` cannot be read: {error}", statement.span) from None
        self.including.append(str(path.resolve()))
        self.read(parse(inner), inner)
        self.including.pop()

    def show(self, statement: Show) -> None:
        for term in statement.terms:
            meaning = self.settle(self.term(term, self.scope))
            if statement.name is not None:
                self.scope[statement.name] = meaning
                self.definitions.append(Definition(statement.name, meaning, statement.span))
                self.shows.append(statement.name)
            elif term.head is Form.NAME:
                self.shows.append(term.name)

    # -- expressions ------------------------------------------------------------------------------------------------

    def term(self, term: Term, scope: Mapping[str, Named]) -> Meaning:
        head = term.head
        if head is Form.NAME:
            return self.name(term, scope)
        if head is Form.ZERO:
            return self.zero
        if head is Form.CHOICE:
            if term.name not in OPTIONS:
                raise SourceError(f"there is no option `{term.name}`", term.span, suggestion(term.name, OPTIONS))
            then, other = (self.term(arg, scope) for arg in term.args)
            _same_kind(then, other, "then and else", term)
            return then if term.name in self.options else other
        args = [self.term(arg, scope) for arg in term.args]
        if head is Form.CALL:
            return self.call(term, args, scope)
        return self.operator(head, term, args)

    def name(self, term: Term, scope: Mapping[str, Named]) -> Meaning:
        found = scope.get(term.name)
        if found is None:
            if term.name == "emptyset":
                return self.zero
            known = [*scope, *_BUILTIN]
            hint = suggestion(term.name, known) or "docs/model.md lists the base names"
            raise SourceError(f"there is no set or relation `{term.name}`", term.span, hint)
        if isinstance(found, Function):
            raise SourceError(f"`{term.name}` is a function: it needs arguments", term.span)
        return found

    def call(self, term: Term, args: list[Meaning], scope: Mapping[str, Named]) -> Meaning:
        found = scope.get(term.name)
        if found is None and term.name in ("domain", "range", "from-read"):
            op = {"domain": Op.DOMAIN, "range": Op.RANGE, "from-read": Op.FROM_READ}[term.name]
            _arity(term, len(args), 1)
            return self.operator(op, term, args)
        if not isinstance(found, Function):
            functions = [n for n, m in scope.items() if isinstance(m, Function)] + ["domain", "range", "from-read"]
            what = "there is no function" if found is None else "this is no function:"
            raise SourceError(f"{what} `{term.name}`", term.span, suggestion(term.name, functions))
        params = found.binding.params or ()
        _arity(term, len(args), len(params))
        key = (found, tuple(args))
        known = self.calls.get(key)
        if known is None:
            if len(self.calling) >= 50:
                raise SourceError("function calls are nested more than 50 deep", term.span)
            self.calling.append(found)
            try:
                known = self.term(found.binding.body, {**found.scope, **dict(zip(params, args, strict=True))})
            except SourceError as error:
                message = f"{error.message}, in `{term.name}` as called at {term.span.where}"
                raise SourceError(message, error.span, error.hint) from None
            finally:
                self.calling.pop()
            self.calls[key] = known
        return known

    def operator(self, op: Op, term: Term, args: list[Meaning]) -> Meaning:
        span = term.span
        if op in (Op.UNION, Op.INTER, Op.DIFF):
            kind = _same_kind(args[0], args[1], f"the sides of `{op.value}`", term)
            if kind is None:
                return self.zero
            return self.node(op, kind, self.settle(args[0], kind), self.settle(args[1], kind), span=span)
        if op is Op.COMPLEMENT:
            inner = self.settle(args[0])
            return self.node(op, inner.kind, inner, span=span)
        wanted = SET if op in (Op.PRODUCT, Op.IDENTITY) else RELATION
        given = [self.settle(arg, wanted) for arg in args]
        for arg, sub in zip(given, term.args, strict=True):
            if arg.kind is not wanted:
                hint = "`[S]` makes a set a relation" if wanted is RELATION else "`*` and `[…]` are for sets"
                message = f"`{_shown(op)}` needs a {wanted.value}, and this is a {arg.kind.value}"
                raise SourceError(message, sub.span, hint)
        if op is Op.SEQ:
            return self.sequence(given[0], given[1], span)
        return self.node(op, SET if op in (Op.DOMAIN, Op.RANGE) else RELATION, *given, span=span)

    def sequence(self, left: Expr, right: Expr, span: Span) -> Expr:
        """left ; right. Where an order of writes follows `rf^-1`, that is its from-read: one byte of all three.

        Other tools have an initial write for each location; our one W0 writes all, so that `rf^-1; co` taken as it
        stands would lead from a read of x to the writes of y.
        """
        if orders_writes(right):
            if _is_reads_from_inverse(left):
                return self.node(Op.FROM_READ, RELATION, right, span=span)
            if left.op is Op.SEQ and _is_reads_from_inverse(left.args[1]):
                inner = self.node(Op.FROM_READ, RELATION, right, span=span)
                return self.node(Op.SEQ, RELATION, left.args[0], inner, span=span)
        return self.node(Op.SEQ, RELATION, left, right, span=span)


def _is_reads_from_inverse(expr: Expr) -> bool:
    return expr.op is Op.INVERSE and expr.args[0].op is Op.BASE and expr.args[0].name == "rf"


def _shown(op: Op) -> str:
    return {Op.PRODUCT: "*", Op.IDENTITY: "[…]", Op.STAR: "*"}.get(op, op.value)


def _same_kind(left: Meaning, right: Meaning, what: str, term: Term) -> ExprKind | None:
    """The common kind, None where both are `0`."""
    kinds = [side.kind for side in (left, right) if isinstance(side, Expr)]
    if len(kinds) == 2 and kinds[0] is not kinds[1]:
        message = f"{what} differ: a {kinds[0].value} and a {kinds[1].value}"
        raise SourceError(message, term.args[1].span, "`[S]` makes a set a relation")
    return kinds[0] if kinds else None


def _arity(term: Term, given: int, wanted: int) -> None:
    if given != wanted:
        plural = "" if wanted == 1 else "s"
        raise SourceError(f"`{term.name}` takes {wanted} argument{plural}, not {given}", term.span)


def _comment(file: File, span: Span) -> str:
    about = file.comments.get(span.line)
    return about.text if about is not None else ""
