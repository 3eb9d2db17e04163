import numpy as np

from handaxe.judges.exact_steps import exact_steps
from handaxe.papers.b_star.answer_and_steps import answer_and_steps
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_trajectory

LAB = "the score of a judge of steps; see the methods"
SCORES = {"a": 0.9, "b": 0.5, "c": -1.0}
PARTS = {
    "right": outcome(lambda one: float(one.final_text != "c")),
    "rule": exact_steps(verdicts=lambda one: np.array([1.0 - 2.0 * (turn.parsed.text == "c") for turn in one.turns])),
    "judge": exact_steps(verdicts=lambda one: np.array([SCORES.get(turn.parsed.text, 0.0) for turn in one.turns])),
}
CONTRACT = [PARTS]
TEXTS = (["a", "b"], ["b", "c"], ["c", "a"])
SIBLINGS = make_group(trajectories=[make_trajectory(texts=texts) for texts in TEXTS])


def test_answer_and_lowest_step_by_hand():
    scores = answer_and_steps(**PARTS)(SIBLINGS)
    assert np.allclose(scores.outcome, [1 + 0.1, 0 - 0.2, 1 - 0.2])
    assert scores.channels["sound"].tolist() == [1.0, 0.0, -1.0]
