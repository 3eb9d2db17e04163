"""Every selector keeps its contract; `helpers.contract` finds them. The mechanism's own test sets FILTERS = False if it
adds or replaces rollouts."""

import pytest
from helpers import contract

from handaxe.selection import drop_equal_groups, mask_empty_turns, pipe
from handaxe.testing.selectors import check_selector


@pytest.mark.parametrize("name, arguments", contract.cases(contract.mechanisms("Selector")), ids=contract.label)
def test_selector_keeps_the_contract(name, arguments):
    filters = contract.own(name, "FILTERS", True)
    check_selector(contract.factory(name)(**arguments), filters=filters)


def test_pipe_of_two_selectors_keeps_the_contract():
    check_selector(pipe(mask_empty_turns(), drop_equal_groups()))


def test_selectors_are_found_and_curricula_are_not():
    found = set(contract.mechanisms("Selector"))
    assert {"selection.keep_all", "selection.pipe"} <= found
    assert not {"curricula.in_order", "curricula.task_pool"} & found
