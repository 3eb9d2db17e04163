"""Copies without shared mutable state, closures included."""

import copy
from contextlib import suppress
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

__all__ = ["isolated_copy"]


def isolated_copy(part: Any, *, share: tuple[type, ...] = ()) -> Any:
    """Copy a component without shared mutable state.

    `copy.deepcopy` does not copy functions and their closed-over variables, which may hold state. Module contents are
    shared.

    Args:
        part: the component.
        share: types of objects that are shared instead of copied, such as large models.
    """
    return _copy(part, _Copies(share))


class _Copies(dict[int, Any]):
    """Finished copies by the id of the original, and the shared types."""

    def __init__(self, share: tuple[type, ...]):
        super().__init__()
        self.share = share


def _copy(value: Any, done: _Copies) -> Any:
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, done.share):
        return value
    if isinstance(value, FunctionType):
        return _function(value, done)
    if isinstance(value, MethodType):
        return MethodType(value.__func__, _copy(value.__self__, done))
    if isinstance(value, partial):
        return partial(_copy(value.func, done), *_copy(value.args, done), **_copy(value.keywords, done))
    if type(value) in (list, set, tuple):
        return type(value)(_copy(item, done) for item in value)
    if type(value) is dict:
        return {key: _copy(item, done) for key, item in value.items()}
    if isinstance(getattr(value, "__dict__", None), dict) and not isinstance(value, type | ModuleType):
        made = done[id(value)] = copy.copy(value)
        made.__dict__.update({name: _copy(item, done) for name, item in vars(value).items()})
        return made
    return value if isinstance(value, ModuleType) else copy.deepcopy(value)


def _function(function: FunctionType, done: _Copies) -> FunctionType:
    old = function.__closure__ or ()
    new = [cell for cell in old if id(cell) not in done]
    cells = tuple(done.setdefault(id(cell), CellType()) for cell in old)
    made = FunctionType(function.__code__, function.__globals__, function.__name__, closure=cells or None)
    done[id(function)] = made
    made.__defaults__ = _copy(function.__defaults__, done)
    made.__kwdefaults__ = _copy(function.__kwdefaults__, done)
    made.__dict__.update(_copy(vars(function), done))
    for cell in new:
        with suppress(ValueError):  # a variable without a value
            done[id(cell)].cell_contents = _copy(cell.cell_contents, done)
    return made
