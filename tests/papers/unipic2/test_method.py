"""Constants of the method unipic2, read by the tests of every method (tests/papers), and its options."""

import pytest
from helpers.methods import made

pytest.importorskip("PIL")
ABOUT_REWARDS = True
FITTED = True
MAY_TIE = "a fitted judge of edits errs"


@pytest.mark.parametrize("order, stages", [("edit_first", ["change", "make"]), ("make_first", ["make", "change"])])
def test_stages_have_one_kind_of_task_each(order, stages):
    method = made("unipic2", "--order", order, "--switch", "3")
    tasks = method.tasks(method.world.tasks("train", 40, 0), 0)
    assert [{one.metadata["kind"] for one in tasks.next(step, 6)} for step in (2, 3)] == [{one} for one in stages]


def test_joint_steps_have_both_kinds():
    method = made("unipic2", "--order", "joint")
    tasks = method.tasks(method.world.tasks("train", 40, 0), 0)
    kinds = [one.metadata["kind"] for one in tasks.next(0, 6)]
    assert kinds.count("change") == kinds.count("make") == 3
