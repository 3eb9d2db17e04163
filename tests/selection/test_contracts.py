"""Every selector keeps its contract. A file in handaxe/selection is found here without being named anywhere; one that
has no row in the table must keep it with default arguments, as a filter."""

import importlib
from pathlib import Path

import pytest

import handaxe.selection
from handaxe.testing.selection import check_selector


def speaks_at_length(turn):
    """An answer for the contract: a turn of more than two tokens."""
    return turn.stop - turn.start > 2


CURRICULA = ("in_order", "task_pool")
COMBINATORS = ("pipe",)
NAMES = sorted(p.stem for p in Path(handaxe.selection.__path__[0]).glob("*.py") if p.stem != "__init__")
VARIANTS = {
    "drop_equal_groups": [{}, {"tolerance": 0.5, "std": "population"}],
    "void_turns": [{}, {"answer": speaks_at_length}],
    "mask_overlong": [{}, {"reasons": ("length", "turns")}],
}
CASES = [
    (name, arguments) for name in NAMES if name not in CURRICULA + COMBINATORS for arguments in VARIANTS.get(name, [{}])
]


def factory(name):
    return getattr(importlib.import_module(f"handaxe.selection.{name}"), name)


@pytest.mark.parametrize("name, arguments", CASES, ids=[f"{name}-{','.join(arguments)}" for name, arguments in CASES])
def test_selector(name, arguments):
    check_selector(factory(name)(**arguments))


def test_pipe():
    pipe = factory("pipe")
    check_selector(pipe())
    check_selector(pipe(factory("void_turns")(), factory("drop_equal_groups")()))


def test_tables_name_only_what_exists():
    assert set(VARIANTS) | set(CURRICULA) | set(COMBINATORS) <= set(NAMES)
