"""Every maker of pairs keeps its contract. A file in handaxe/pairs is found here without being named anywhere; its own
test may say with which arguments (see tests/contract.py)."""

import importlib.util
from pathlib import Path

import handaxe.pairs
import pytest

from handaxe.testing.pairs import check_pairs

_spec = importlib.util.spec_from_file_location("contract", Path(__file__).parents[1] / "contract.py")
contract = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(contract)


@pytest.mark.parametrize(
    "name, arguments", contract.cases("pairs", contract.names_in(handaxe.pairs)), ids=contract.told
)
def test_pairs(name, arguments):
    check_pairs(contract.factory("pairs", name)(**arguments))
