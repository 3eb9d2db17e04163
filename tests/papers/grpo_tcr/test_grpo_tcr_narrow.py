"""Constants of the method grpo_tcr_narrow, read by the tests of every method (tests/papers), and its tasks."""

from helpers.methods import made

from handaxe.papers.grpo_tcr.task_kinds import task_kind

ABOUT_REWARDS = True
DEAD_PARTS = {"answer/then"}
UNBOUNDED = {"training/loss/entropy": "an amount, which has no level", "pass@1": "both sides train"}


def test_both_data_sets_have_equal_sizes_and_different_kinds():
    method, base = made("grpo_tcr_narrow"), made("grpo_tcr")
    tasks = method.world.tasks("train", 4096, 0)
    narrow, diverse = method.tasks(tasks, 0).tasks, base.tasks(tasks, 0).tasks
    assert len(narrow) == len(diverse) == 96
    assert len({task_kind(one) for one in narrow}) == 1 and len({task_kind(one) for one in diverse}) > 5
