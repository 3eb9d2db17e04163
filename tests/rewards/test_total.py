from handaxe import rewards
from handaxe.testing.records import make_group, make_scores, make_trajectory


def fixed(outcome, *, turns=None, channels=None, eligible=None):
    return lambda group: make_scores(outcome, turns=turns, channels=channels, eligible=eligible)


ANSWER, FORMAT = fixed([1, 0]), fixed([1, 1])
PAIR = make_group(trajectories=[make_trajectory(texts=["a", "b"]), make_trajectory(texts=["c"])])


def test_total_adds_turns_once_and_only_once():
    reward = rewards.total(fixed([1, 0], turns=[[0.5, 0.25], [0]]))
    once = reward(PAIR)
    assert once.outcome.tolist() == [1.75, 0] and once.turns is None
    assert [t.tolist() for t in once.turn_channels["turns"]] == [[0.5, 0.25], [0]]
    assert rewards.total(reward)(PAIR).outcome.tolist() == [1.75, 0]
