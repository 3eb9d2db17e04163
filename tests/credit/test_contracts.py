"""Every credit and every shape keeps its contract. A file in handaxe/credit is found here without being named anywhere;
its own test may say with which arguments (see tests/contract.py), and OVER_TURNS = True where statistics are over
turns."""

import importlib.util
from pathlib import Path

import pytest

import handaxe.credit
from handaxe.testing.credit import check_credit
from handaxe.testing.selection import check_shape

_spec = importlib.util.spec_from_file_location("contract", Path(__file__).parents[1] / "contract.py")
contract = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(contract)

NAMES = set(contract.names_in(handaxe.credit)) - {"shaped"}
SHAPES = {name for name in NAMES if contract.makes("credit", name) == "Shape"}
SHAPERS = {name for name in NAMES if contract.makes("credit", name) == "Shaper"}


@pytest.mark.parametrize(
    "name, arguments", contract.cases("credit", sorted(NAMES - SHAPES - SHAPERS)), ids=contract.told
)
def test_credit(name, arguments):
    make = contract.factory("credit", name)
    over_turns = contract.own("credit", name, "OVER_TURNS", False)
    check_credit(make(**arguments), over_turns=over_turns)
    check_credit(make(**arguments), turns=False, over_turns=over_turns, seeds=2)


@pytest.mark.parametrize("name, arguments", contract.cases("credit", sorted(SHAPES)), ids=contract.told)
def test_shape(name, arguments):
    check_shape(contract.factory("credit", name)(**arguments))


@pytest.mark.parametrize("name, arguments", contract.cases("credit", sorted(SHAPERS)), ids=contract.told)
def test_shaper(name, arguments):
    """Behind a credit that compares siblings it is one."""
    shaped, group_norm = (contract.factory("credit", one) for one in ("shaped", "group_norm"))
    check_credit(shaped(group_norm(), contract.factory("credit", name)(**arguments)), compares=True)


def test_credits_that_compare_do():
    for name, arguments in (("group_norm", {}), ("leave_one_out", {}), ("kl_return", {"baseline": "group"})):
        check_credit(contract.factory("credit", name)(**arguments), compares=True)
    check_credit(contract.factory("credit", "optimal_baseline")(tail="last"), compares=True)


def test_shaped():
    shaped, gae, group_norm = (contract.factory("credit", name) for name in ("shaped", "gae", "group_norm"))
    check_credit(shaped(group_norm()), compares=True)
    check_credit(shaped(gae(), lambda group, advantages: advantages))


def test_credits_and_shapes_are_told_apart():
    assert {"batch_norm", "batch_whiten"} <= SHAPES and {"gae", "group_norm"} <= NAMES - SHAPES
