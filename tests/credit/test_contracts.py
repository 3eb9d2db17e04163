"""Contract of every credit and every advantage transform; `helpers.contract` lists the mechanisms.

The mechanism's test sets OVER_TURNS = True if its statistics are over turns, and OF_GROUPS = True for a transform whose
result depends on one group only.
"""

import pytest
from helpers import contract

from handaxe.credit import gae, group_norm, kl_return, leave_one_out, optimal_baseline
from handaxe.credit.transformed import transformed
from handaxe.testing.credit import check_credit
from handaxe.testing.selectors import check_transform

CREDITS = [name for name in contract.mechanisms("Credit") if name != "credit.transformed"]


@pytest.mark.parametrize("name, arguments", contract.cases(CREDITS), ids=contract.label)
def test_credit_keeps_the_contract(name, arguments):
    make = contract.factory(name)
    over_turns = contract.own(name, "OVER_TURNS", False)
    check_credit(make(**arguments), over_turns=over_turns)
    check_credit(make(**arguments), turns=False, over_turns=over_turns, seeds=2)


TRANSFORMS = contract.cases(contract.mechanisms("AdvantageTransform"))
OF_GROUPS = [case for case in TRANSFORMS if contract.own(case[0], "OF_GROUPS", False)]


@pytest.mark.parametrize("name, arguments", TRANSFORMS, ids=contract.label)
def test_transform_keeps_the_contract(name, arguments):
    check_transform(contract.factory(name)(**arguments))


@pytest.mark.parametrize("name, arguments", OF_GROUPS, ids=contract.label)
def test_group_transform_keeps_the_contract_of_a_credit(name, arguments):
    """After a credit that compares siblings."""
    check_credit(transformed(group_norm(), contract.factory(name)(**arguments)), compares=True)


@pytest.mark.parametrize(
    "credit",
    [group_norm(), leave_one_out(), kl_return(baseline="group"), optimal_baseline(tail="last")],
    ids=["group_norm", "leave_one_out", "kl_return", "optimal_baseline"],
)
def test_credit_with_a_group_baseline_compares_siblings(credit):
    check_credit(credit, compares=True)


def test_transformed_credit_keeps_the_contract():
    check_credit(transformed(group_norm()), compares=True)
    check_credit(transformed(gae(), list))


def test_credits_and_transforms_are_found():
    assert {"credit.gae", "credit.group_norm", "papers.cm2.checklist_credit"} <= set(CREDITS)
    transforms = {"advantages.batch_norm", "advantages.mask_shared_prefix"}
    assert len(OF_GROUPS) >= 3 and transforms <= set(contract.mechanisms("AdvantageTransform"))
