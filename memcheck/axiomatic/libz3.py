"""libz3 through its C interface: the few functions that the fast path calls.

z3's own Python layer is not imported: that takes longer than most tests. The library is the one it ships with, and one
context serves the process. Functions are z3's own, documented in its `z3_api.h`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.machinery import PathFinder

from memcheck.errors import MemcheckError

LOGIC = b"QF_FD"
"""Finite domains: propositional clauses go straight to the SAT solver."""
NO_LIMIT = 2**32 - 1
"""Milliseconds that z3 takes for none."""
_TRUE, _UNKNOWN = 1, 0
"""Z3_lbool."""

_HANDLE = ctypes.c_void_p
_TEXT = ctypes.c_char_p
_NUMBER = ctypes.c_uint
_LIST = ctypes.POINTER(ctypes.c_void_p)

_FUNCTIONS: dict[str, tuple[object, tuple[object, ...]]] = {
    "mk_config": (_HANDLE, ()),
    "del_config": (None, (_HANDLE,)),
    "mk_context_rc": (_HANDLE, (_HANDLE,)),
    "set_error_handler": (None, (_HANDLE, _HANDLE)),
    "get_error_code": (ctypes.c_int, (_HANDLE,)),
    "get_error_msg": (_TEXT, (_HANDLE, ctypes.c_int)),
    "global_param_set": (None, (_TEXT, _TEXT)),
    "interrupt": (None, (_HANDLE,)),
    "inc_ref": (None, (_HANDLE, _HANDLE)),
    "mk_int_symbol": (_HANDLE, (_HANDLE, ctypes.c_int)),
    "mk_string_symbol": (_HANDLE, (_HANDLE, _TEXT)),
    "mk_bool_sort": (_HANDLE, (_HANDLE,)),
    "mk_const": (_HANDLE, (_HANDLE, _HANDLE, _HANDLE)),
    "mk_not": (_HANDLE, (_HANDLE, _HANDLE)),
    "get_app_decl": (_HANDLE, (_HANDLE, _HANDLE)),
    "get_bool_value": (ctypes.c_int, (_HANDLE, _HANDLE)),
    "mk_params": (_HANDLE, (_HANDLE,)),
    "params_inc_ref": (None, (_HANDLE, _HANDLE)),
    "params_dec_ref": (None, (_HANDLE, _HANDLE)),
    "params_set_bool": (None, (_HANDLE, _HANDLE, _HANDLE, ctypes.c_bool)),
    "params_set_uint": (None, (_HANDLE, _HANDLE, _HANDLE, _NUMBER)),
    "mk_solver_for_logic": (_HANDLE, (_HANDLE, _HANDLE)),
    "solver_inc_ref": (None, (_HANDLE, _HANDLE)),
    "solver_dec_ref": (None, (_HANDLE, _HANDLE)),
    "solver_set_params": (None, (_HANDLE, _HANDLE, _HANDLE)),
    "solver_push": (None, (_HANDLE, _HANDLE)),
    "solver_pop": (None, (_HANDLE, _HANDLE, _NUMBER)),
    "solver_from_string": (None, (_HANDLE, _HANDLE, _TEXT)),
    "solver_check_assumptions": (ctypes.c_int, (_HANDLE, _HANDLE, _NUMBER, _LIST)),
    "solver_get_reason_unknown": (_TEXT, (_HANDLE, _HANDLE)),
    "solver_get_model": (_HANDLE, (_HANDLE, _HANDLE)),
    "model_inc_ref": (None, (_HANDLE, _HANDLE)),
    "model_dec_ref": (None, (_HANDLE, _HANDLE)),
    "model_get_const_interp": (_HANDLE, (_HANDLE, _HANDLE, _HANDLE)),
}
"""Name without `Z3_`: what it returns, what it takes."""


def library() -> str:
    """The path of libz3 in the z3-solver package; MemcheckError where there is none."""
    name = {"win32": "libz3.dll", "darwin": "libz3.dylib"}.get(sys.platform, "libz3.so")
    spec = PathFinder.find_spec("z3")
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in (os.path.join(folder, "lib", name), os.path.join(folder, name)):
            if os.path.isfile(path):
                return path
    raise MemcheckError(f"the solver is missing: no {name} in a package `z3`; install z3-solver")


@cache
def _z3() -> ctypes.CDLL:
    """The library, every function of _FUNCTIONS declared."""
    try:
        loaded = ctypes.CDLL(library())
        for name, (result, parameters) in _FUNCTIONS.items():
            function = getattr(loaded, f"Z3_{name}")
            function.restype, function.argtypes = result, parameters
    except (OSError, AttributeError) as error:
        raise MemcheckError(f"the solver cannot be loaded: {error}") from None
    return loaded


@cache
def _context() -> int:
    """The context of this process; it lasts as long. Errors are codes to ask for: without a handler z3 would exit."""
    z3 = _z3()
    config = z3.Z3_mk_config()
    context: int = z3.Z3_mk_context_rc(config)
    z3.Z3_del_config(config)
    z3.Z3_set_error_handler(context, None)
    return context


def _checked() -> None:
    """MemoryError or MemcheckError where the last call failed."""
    code = _z3().Z3_get_error_code(_context())
    if code:
        message = _z3().Z3_get_error_msg(_context(), code).decode(errors="replace").strip()
        if code == _MEMOUT:
            raise MemoryError(message)
        raise MemcheckError(f"internal error: the solver says: {message}. Please report this test")


_MEMOUT = 7
"""Z3_MEMOUT_FAIL."""

_positive: list[int] = []
_negative: list[int] = []


def _literal(number: int) -> int:
    """The term of a literal: variable i is the Boolean constant whose name is the integer i, as DIMACS text has it."""
    z3, context = _z3(), _context()
    while len(_positive) <= abs(number):
        symbol = z3.Z3_mk_int_symbol(context, len(_positive))
        atom = z3.Z3_mk_const(context, symbol, z3.Z3_mk_bool_sort(context))
        z3.Z3_inc_ref(context, atom)
        negation = z3.Z3_mk_not(context, atom)
        z3.Z3_inc_ref(context, negation)
        _checked()
        _positive.append(atom)
        _negative.append(negation)
    return _positive[number] if number > 0 else _negative[-number]


def limit_memory(megabytes: int) -> None:
    """What z3 may use, in all."""
    _z3().Z3_global_param_set(b"memory_max_size", str(megabytes).encode())


_others_interrupt: list[bool] = []
"""Not empty where z3 leaves Ctrl-C alone: its own handler loses one that comes as a check begins or ends."""


def leave_interrupts() -> None:
    """Solvers made from now on do not catch Ctrl-C: the caller sees to it, with `interrupt`."""
    _others_interrupt.append(True)


def interrupt() -> None:
    """Ends the check that runs now in another thread, if one does: it gives up."""
    if _context.cache_info().currsize:
        _z3().Z3_interrupt(_context())


class Solver:
    """A solver over clauses; `close` gives it back."""

    def __init__(self) -> None:
        z3, context = _z3(), _context()
        self._solver: int = z3.Z3_mk_solver_for_logic(context, z3.Z3_mk_string_symbol(context, LOGIC))
        _checked()
        z3.Z3_solver_inc_ref(context, self._solver)
        if _others_interrupt:
            self._set(lambda parameters, name: z3.Z3_params_set_bool(context, parameters, name, False), b"ctrl_c")

    def close(self) -> None:
        _z3().Z3_solver_dec_ref(_context(), self._solver)

    def push(self) -> None:
        _z3().Z3_solver_push(_context(), self._solver)
        _checked()

    def pop(self) -> None:
        _z3().Z3_solver_pop(_context(), self._solver, 1)
        _checked()

    def read(self, dimacs: str) -> None:
        """Adds clauses from DIMACS text, which z3's string front end knows by its header."""
        _z3().Z3_solver_from_string(_context(), self._solver, dimacs.encode())
        _checked()

    def limit_time(self, milliseconds: int = NO_LIMIT) -> None:
        """For each check that follows."""
        z3, context = _z3(), _context()
        self._set(lambda parameters, name: z3.Z3_params_set_uint(context, parameters, name, milliseconds), b"timeout")

    def _set(self, setter: Callable[[int, int], None], name: bytes) -> None:
        """One parameter, by a function of parameters and name."""
        z3, context = _z3(), _context()
        parameters = z3.Z3_mk_params(context)
        z3.Z3_params_inc_ref(context, parameters)
        setter(parameters, z3.Z3_mk_string_symbol(context, name))
        z3.Z3_solver_set_params(context, self._solver, parameters)
        z3.Z3_params_dec_ref(context, parameters)
        _checked()

    def check(self, assumptions: Iterable[int]) -> bool | None:
        """Whether the clauses can be satisfied under the literals; None where z3 gives up.

        While it runs, z3 itself catches SIGINT and gives up (but see `leave_interrupts`).
        """
        literals = [_literal(number) for number in assumptions]
        array = (ctypes.c_void_p * len(literals))(*literals)
        answer: int = _z3().Z3_solver_check_assumptions(_context(), self._solver, len(literals), array)
        _checked()
        return None if answer == _UNKNOWN else answer == _TRUE

    def reason(self) -> str:
        """Why the last check gave up."""
        found: bytes = _z3().Z3_solver_get_reason_unknown(_context(), self._solver)
        return found.decode(errors="replace")

    def true_literals(self, literals: Sequence[int]) -> set[int]:
        """Those of the literals that are true in the model of the last check, which was satisfiable."""
        z3, context = _z3(), _context()
        model = z3.Z3_solver_get_model(context, self._solver)
        _checked()
        z3.Z3_model_inc_ref(context, model)
        try:
            found = set()
            for literal in literals:
                declaration = z3.Z3_get_app_decl(context, _literal(abs(literal)))
                value = z3.Z3_model_get_const_interp(context, model, declaration)
                true = bool(value) and z3.Z3_get_bool_value(context, value) == _TRUE
                if true == (literal > 0):
                    found.add(literal)
            return found
        finally:
            z3.Z3_model_dec_ref(context, model)
