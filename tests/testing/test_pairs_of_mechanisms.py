"""Contract of every maker of pairs; `helpers.contract` lists them."""

import pytest
from helpers import contract

from handaxe.testing.pairs import check_pairs


@pytest.mark.parametrize("name, arguments", contract.cases(contract.mechanisms("Pairs")), ids=contract.label)
def test_every_maker_keeps_the_contract(name, arguments):
    check_pairs(contract.factory(name)(**arguments))


def test_both_makers_are_found():
    assert len(contract.mechanisms("Pairs")) >= 2
