"""Constants of the method oni, read by the tests of every method (tests/papers), and its reward."""

import pytest
from helpers.methods import made

from handaxe.core.records import Group
from handaxe.papers.oni.message_reward import Classified, Ranked, Retrieved
from handaxe.testing.make_records import make_trajectory

pytest.importorskip("minigrid")
REMEMBERS = "labels of messages"


def test_oni_equals_the_worked_example():
    method = made("oni", "--c-ext", "0.1", "--world", "arithmetic", "--model", "tiny")
    task = method.world.tasks("train", 1, 0)[0]
    one = make_trajectory(texts=["", "", str(task.answer)], replies=[["+key"], ["+key"], []], task=task)
    (desk,) = method.learners
    desk._reward.learn({"+key": 1.0}, [], step=0)
    scores = method.reward(Group(task, (one,)))
    assert scores.turns[0] == pytest.approx([0.4, 0.05, 0.0], abs=1e-12), "0.4 / 1, 0.4 / 2^3, no message"
    assert scores.outcome == pytest.approx([0.1]), "0.1 times a correct answer"
    assert 0.1 * 2 + scores.turns[0][1] == pytest.approx(0.25), "with an extrinsic reward of 2"


@pytest.mark.parametrize(
    "variant, kind", [("retrieval", Retrieved), ("classification", Classified), ("ranking", Ranked)]
)
def test_variants_are_choices_of_one_part(variant, kind):
    method = made("oni", "--variant", variant)
    (desk,) = method.learners
    assert type(desk._reward) is kind and desk._reward.scores(["a1 +key"]).tolist() == [0]
