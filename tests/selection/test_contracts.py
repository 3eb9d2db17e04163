"""Every selector keeps its contract. A file in handaxe/selection is found here without being named anywhere; its own
test may say with which arguments (see tests/contract.py)."""

import importlib.util
from pathlib import Path

import pytest

import handaxe.selection
from handaxe.testing.selection import check_selector

_spec = importlib.util.spec_from_file_location("contract", Path(__file__).parents[1] / "contract.py")
contract = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(contract)

NAMES = [name for name in contract.names_in(handaxe.selection) if contract.makes("selection", name) == "Selector"]


@pytest.mark.parametrize("name, arguments", contract.cases("selection", NAMES), ids=contract.told)
def test_selector(name, arguments):
    """Its own test says FILTERS = False where it adds or replaces attempts."""
    filters = contract.own("selection", name, "FILTERS", True)
    check_selector(contract.factory("selection", name)(**arguments), filters=filters)


def test_pipe():
    pipe, void_turns, drop = (contract.factory("selection", n) for n in ("pipe", "void_turns", "drop_equal_groups"))
    check_selector(pipe(void_turns(), drop()))


def test_curricula_are_told_apart():
    assert {"keep_all", "pipe"} <= set(NAMES) and not {"in_order", "task_pool"} & set(NAMES)
