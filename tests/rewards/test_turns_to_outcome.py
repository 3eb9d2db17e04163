import pytest

from handaxe import rewards
from handaxe.core.errors import InputError
from handaxe.testing.make_records import make_group, make_scores, make_trajectory

CONTRACT = []
LAB = "moves values of another reward"

PAIR = make_group(trajectories=[make_trajectory(texts=["a", "b"]), make_trajectory(texts=["c"])])
TRIPLE = make_group(trajectories=[make_trajectory(texts=["a", "b", "c"]), make_trajectory(layouts=["UUt"])])


def fixed(outcome, *, turns=None, channels=None):
    return lambda group: make_scores(outcome, turns=turns, channels=channels)


def test_turns_are_summed_once_and_kept_as_a_turn_channel():
    reward = rewards.turns_to_outcome(fixed([1, 0], turns=[[0.5, 0.25], [0]]))
    once = reward(PAIR)
    assert once.outcome.tolist() == [1.75, 0] and once.turns is None
    assert [t.tolist() for t in once.turn_channels["turns"]] == [[0.5, 0.25], [0]]
    assert rewards.turns_to_outcome(reward)(PAIR).outcome.tolist() == [1.75, 0]


def test_mean_divides_by_the_turns_of_each_rollout():
    scores = rewards.turns_to_outcome(fixed([1, 0], turns=[[1, 0, 1], []]), reduce="mean")(TRIPLE)
    assert scores.outcome.tolist() == pytest.approx([1 + 2 / 3, 0])
    assert scores.turns is None and [turn.tolist() for turn in scores.turn_channels["turns"]] == [[1, 0, 1], []]


@pytest.mark.parametrize("reduce", ["sum", "mean"])
def test_a_reward_without_turns_is_unchanged(reduce):
    scores = rewards.turns_to_outcome(fixed([1, 0], channels={"c": [2, 3]}), reduce=reduce)(TRIPLE)
    assert scores.outcome.tolist() == [1, 0] and scores.channels["c"].tolist() == [2, 3]


def test_another_reduction_is_an_error():
    with pytest.raises(InputError, match="sum or mean, not 'max'"):
        rewards.turns_to_outcome(fixed([1, 0]), reduce="max")
