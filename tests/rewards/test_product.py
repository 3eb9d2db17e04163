from handaxe import rewards
from handaxe.testing.make_records import make_group, make_scores, make_trajectory

CONTRACT = []
LAB = "multiplies other rewards; see the methods"


def fixed(outcome, *, turns=None, channels=None, eligible=None):
    return lambda group: make_scores(outcome, turns=turns, channels=channels, eligible=eligible)


ANSWER, FORMAT = fixed([1, 0]), fixed([1, 1])
PAIR = make_group(trajectories=[make_trajectory(texts=["a", "b"]), make_trajectory(texts=["c"])])


def test_product_matches_the_docstring_example():
    assert rewards.product({"answer": ANSWER, "format": FORMAT})(PAIR).outcome.tolist() == [1, 0]
    scores = rewards.product({"answer": ANSWER, "economy": fixed([0.5, 1])})(PAIR)
    assert scores.outcome.tolist() == [0.5, 0]
    assert scores.channels["economy"].tolist() == [0.5, 1]
