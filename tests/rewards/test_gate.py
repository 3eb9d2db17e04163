from handaxe import rewards
from handaxe.testing.records import make_group, make_scores, make_trajectory


def fixed(outcome, *, turns=None, channels=None, eligible=None):
    return lambda group: make_scores(outcome, turns=turns, channels=channels, eligible=eligible)


ANSWER, FORMAT = fixed([1, 0]), fixed([1, 1])
PAIR = make_group(trajectories=[make_trajectory(texts=["a", "b"]), make_trajectory(texts=["c"])])


def test_gate_example():
    three = make_group(size=3)
    gate = rewards.gate(on=fixed([1, 0, 1]), then=fixed([0.3, 0.9, 0.5]), otherwise=fixed([-1, -2, -3]))
    assert gate(three).outcome.tolist() == [0.3, -2, 0.5]
    assert rewards.gate(on=ANSWER, then=FORMAT)(PAIR).outcome.tolist() == [1, 0]
    assert gate(three).channels["otherwise"].tolist() == [-1, -2, -3]
    assert gate(three).eligible is None


def test_gate_opens_strictly_above_and_can_mark_who_is_eligible():
    scores = rewards.gate(on=fixed([0.5, 0.6]), then=FORMAT, above=0.5, mark_eligible=True)(PAIR)
    assert scores.outcome.tolist() == [0, 1]
    assert scores.eligible.tolist() == [False, True]


def test_gate_chooses_turns_alike():
    turned = fixed([0, 0], turns=[[1, 2], [3]])
    assert [t.tolist() for t in rewards.gate(on=ANSWER, then=turned)(PAIR).turns] == [[1, 2], [0]]
    assert [t.tolist() for t in rewards.gate(on=ANSWER, then=FORMAT, otherwise=turned)(PAIR).turns] == [[0, 0], [3]]
