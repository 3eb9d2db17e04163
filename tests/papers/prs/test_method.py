"""Constants of the method prs, read by the tests of every method (tests/papers)."""

import pytest

pytest.importorskip("bm25s")

from helpers.methods import made

from handaxe.core.records import Group
from handaxe.testing.make_records import make_trajectory

ABOUT_REWARDS = True
DEAD_PARTS = {"partial"}
MAY_TIE = "a correct answer without a call that worked does not count, by the paper's rule"
UNBOUNDED = {"pass@1": "by the area, as the same figure at its end is bounded"}


def partial_share(*words):
    """Share of partial quality among answers that are the reference, near it, and far from it."""
    method = made("prs", "--model", "tiny", *words)
    world, found = method.world, []
    for task in world.tasks("train", 20, 0):
        gold = str(task.answer[0] if isinstance(task.answer, (list, tuple)) else task.answer)
        answers = (gold, f"{gold}0", gold[:-2], "none of them")
        group = Group(task, tuple(make_trajectory(texts=[text], task=task) for text in answers))
        bleu = method.reward(group).channels["quality"]
        partial = method.reward(group).channels["partial"]
        assert partial.tolist() == [float(0 < value < 1) for value in bleu]
        assert bleu[0] == 1 and partial[0] == 0
        found += partial.tolist()
    return sum(found) / len(found)


def test_the_quality_of_the_default_world_is_graded():
    """Answers of one word are equal or not."""
    assert partial_share("--world", "hops", "--max-turns", "6") == 0
    assert partial_share() == pytest.approx(0.35, abs=0.1)
