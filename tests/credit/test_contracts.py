"""Every credit keeps its contract. A file in handaxe/credit is found here without being named anywhere; one that has no
row in the tables must keep it with default arguments, as a credit that does not compare siblings."""

import importlib
from pathlib import Path

import pytest

import handaxe.credit
from handaxe.testing.credit import check_credit
from handaxe.testing.selection import check_shape

NAMES = sorted(p.stem for p in Path(handaxe.credit.__path__[0]).glob("*.py") if p.stem != "__init__")
SHAPES = ("batch_norm", "batch_whiten")  # they change the advantages of a whole batch
COMPARING = ("group_norm", "leave_one_out")
VARIANTS = {
    "constant_baseline": [{}, {"baseline": 0.25}],
    "group_norm": [{}, {"std": "population", "stats_over": "eligible"}, {"std": None, "eps": 0.0}],
    "leave_one_out": [{}, {"stats_over": "eligible"}],
    "return_to_go": [{}, {"unit": "token", "gamma": 0.9, "baseline": 0.5}],
    "gae": [{}, {"gamma": 0.9, "lam": 0.8, "kl_coefficient": 0.1, "bootstrap": True}],
    "turn_gae": [{}, {"gamma": 0.9, "lam": 0.8, "bootstrap": True}],
    "bi_level_gae": [{}, {"gamma": 0.9, "lam": 0.8}],
    "kl_return": [{}, {"kl_coefficient": 0.1, "gamma": 0.9}, {"kl_coefficient": 0.1, "baseline": "group"}],
    "optimal_baseline": [{}, {"tail": "last", "stats_over": "eligible"}, {"lone": "reward"}],
    "batch_norm": [{}, {"mean": "batch", "std": "population"}],
    "batch_whiten": [{}, {"centre": False, "std": "population"}],
}
CASES = [(name, arguments) for name in NAMES if name != "shaped" for arguments in VARIANTS.get(name, [{}])]


def factory(name):
    return getattr(importlib.import_module(f"handaxe.credit.{name}"), name)


@pytest.mark.parametrize("name, arguments", [case for case in CASES if case[0] not in SHAPES], ids=str)
def test_credit(name, arguments):
    compares = name in COMPARING
    check_credit(factory(name)(**arguments), compares=compares)
    check_credit(factory(name)(**arguments), compares=compares, turns=False, seeds=2)


@pytest.mark.parametrize("name, arguments", [case for case in CASES if case[0] in SHAPES], ids=str)
def test_shape(name, arguments):
    check_shape(factory(name)(**arguments))


def test_credits_that_compare_when_asked_to():
    check_credit(factory("kl_return")(baseline="group"), compares=True)
    check_credit(factory("optimal_baseline")(tail="last"), compares=True)


def test_shaped():
    check_credit(factory("shaped")(factory("group_norm")()), compares=True)
    check_credit(factory("shaped")(factory("gae")(), lambda group, advantages: advantages))


def test_tables_name_only_what_exists():
    assert set(VARIANTS) | set(SHAPES) | set(COMPARING) <= set(NAMES)
