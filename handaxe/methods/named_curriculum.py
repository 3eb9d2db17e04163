"""The curriculum of a run: named on the command line, of the method, of the world, or in order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Task
from handaxe.curricula.in_order import in_order
from handaxe.methods.method import Method
from handaxe.methods.run_spec import NamedFactory, RunSpec
from handaxe.worlds.world import World

__all__ = ["check_curriculum", "ignored_order", "make_curriculum"]

Order = Callable[[list[Task], int], Curriculum]


def make_curriculum(spec: RunSpec, method: Method, world: World, tasks: list[Task]) -> Curriculum:
    """Make the curriculum of a run.

    A named curriculum that wraps another (argument `around`) wraps the default of the world.

    Raises:
        InputError: the run names a curriculum, and the method has one of its own; or an option does not fit.
    """
    check_curriculum(spec, method)
    named, seed = spec.template.curriculum, spec.settings.seed
    if named is None:
        order: Order = method.tasks or world.curriculum or _in_order
    else:
        order = _order(named, spec.options["curriculum"], world.curriculum)
    found = order(tasks, seed)
    if not isinstance(getattr(found, "next", None), Callable):  # type: ignore[arg-type]
        who = f"method {spec.name}" if named is None else f"curriculum {named.name}"
        raise InputError(
            f"{who} returns {type(found).__name__} and no curriculum: give an object with next(step, count)"
        )
    return found


def check_curriculum(spec: RunSpec, method: Method) -> None:
    """Raise InputError if the run names a curriculum, and the method has one of its own."""
    named = spec.template.curriculum
    if named is not None and method.tasks is not None:
        raise InputError(f"method {spec.name} has a curriculum of its own: leave --curriculum {named.name} out")


def ignored_order(spec: RunSpec, method: Method, world: World) -> str:
    """Return a warning if another curriculum replaces the one of the world; "" otherwise."""
    named = spec.template.curriculum
    if world.curriculum is None or (named is None and method.tasks is None):
        return ""
    if named is not None and "around" in _arguments(named):
        return ""
    who = f"method {spec.name}" if named is None else f"--curriculum {named.name}"
    return f"{who} replaces the order of world {world.name}: its weights, and rows beyond the first, have no effect"


def _order(named: NamedFactory, options: Mapping[str, Any], around: Order | None) -> Order:
    """The function (tasks, seed) -> curriculum of a factory of either form.

    (tasks, *, seed, options) -> curriculum        (*, options) -> (tasks, seed) -> curriculum
    """
    takes = _arguments(named)
    if "tasks" in takes:
        return lambda tasks, seed: named.make(tasks, seed=seed, **options)
    given = {"around": around} if "around" in takes else {}
    made: Order = named.make(**options, **given)
    if not callable(made):
        raise InputError(
            f"curriculum {named.name} returns {type(made).__name__}: write (tasks, *, seed, options) -> curriculum, or "
            "(*, options) -> (tasks, seed) -> curriculum"
        )
    return made


def _arguments(named: NamedFactory) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(named.make).parameters


def _in_order(tasks: list[Task], seed: int) -> Curriculum:
    return in_order(tasks, seed=seed)
