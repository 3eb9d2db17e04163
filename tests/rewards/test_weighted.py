from handaxe import rewards
from handaxe.rewards.parts.schedules import two_stage
from handaxe.testing.make_records import make_group, make_scores, make_trajectory

CONTRACT = []
LAB = "adds other rewards; see the methods"


def fixed(outcome, *, turns=None, channels=None, eligible=None):
    return lambda group: make_scores(outcome, turns=turns, channels=channels, eligible=eligible)


ANSWER, FORMAT = fixed([1, 0]), fixed([1, 1])
PAIR = make_group(trajectories=[make_trajectory(texts=["a", "b"]), make_trajectory(texts=["c"])])


def test_weighted_matches_the_docstring_example():
    scores = rewards.weighted({"answer": (1.0, ANSWER), "format": (0.2, FORMAT)})(PAIR)
    assert scores.outcome.tolist() == [1.2, 0.2]
    assert {name: value.tolist() for name, value in scores.channels.items()} == {"answer": [1, 0], "format": [1, 1]}
    assert scores.turns is None and scores.turn_channels == {}


def test_weighted_adds_outcome_to_outcome_and_turn_to_turn():
    turned = fixed([0, 0], turns=[[1, 2], [3]])
    reward = rewards.weighted({"answer": (1.0, ANSWER), "a": (0.5, turned), "b": (2.0, turned)})
    scores = reward(PAIR)
    assert scores.outcome.tolist() == [1, 0]
    assert [t.tolist() for t in scores.turns] == [[2.5, 5], [7.5]]
    assert [t.tolist() for t in scores.turn_channels["a"]] == [[1, 2], [3]]
    assert rewards.turns_to_outcome(reward)(PAIR).outcome.tolist() == [8.5, 7.5]


def test_a_weight_is_evaluated_at_the_step():
    reward = rewards.weighted({"answer": (two_stage(1.0, 0.5, at=30), ANSWER)})
    assert reward(make_group(size=2, step=29)).outcome.tolist() == [1, 0]
    assert reward(make_group(size=2, step=30)).outcome.tolist() == [0.5, 0]
