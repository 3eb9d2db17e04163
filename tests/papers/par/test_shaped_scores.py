import json
import math
from statistics import NormalDist
from typing import get_args

import numpy as np
import pytest

from handaxe import rewards
from handaxe.core.errors import InputError
from handaxe.papers.par.shaped_scores import RunningScores, Shaping, shaped_scores
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_rated, make_scores

REFERENCES = np.array([1.0, 2.0, 4.0])
SCORES = [2.0, -1.5, 7.0]


def running(first=(1.0, 3.0)):
    return RunningScores("proxy/score", lambda: np.array(first))


TURNS = {
    "score": outcome(lambda one: float(len(one.turns))),
    "references": lambda task: REFERENCES,
    "running": running(),
}
CONTRACT = [{"shaping": shaping, **TURNS} for shaping in get_args(Shaping)]
LAB = "a monotone function of another reward"


def rated(*scores):
    group = make_group(size=len(scores))
    return make_rated(group=group, scores=make_scores([0.0] * len(scores), channels={"proxy/score": np.array(scores)}))


def shaped(shaping, scores=SCORES, references=REFERENCES, known=None, **knobs):
    reward = shaped_scores(
        shaping=shaping,
        score=lambda group: make_scores(scores),
        references=lambda task: references,
        running=known or running(),
        **knobs,
    )
    return reward(make_group(size=len(scores)))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def polynomial(x):
    """The normal equations of a fit of degree 5, solved here."""
    places = [-5 + 10 * n / 99 for n in range(100)]
    powers = np.array([[one**k for k in range(6)] for one in places])
    weights = np.linalg.solve(powers.T @ powers, powers.T @ np.array([sigmoid(one) for one in places]))
    return 0.0 if x <= -5 else 1.0 if x >= 5 else sum(weights[k] * x**k for k in range(6))


def slow(shaping, r, references, mean=2.0, std=1.0, low=1.0, high=3.0, ceiling=2.0, k=1.0):
    gaps = [r - one for one in references]
    average = sum(references) / len(references)
    spread = (sum((one - average) ** 2 for one in references) / len(references)) ** 0.5
    quantile = average + spread * NormalDist().inv_cdf(0.85)
    return {
        "win_rate": sum(sigmoid(k * gap) for gap in gaps) / len(gaps),
        "raw": r,
        "centred": sum(gaps) / len(gaps),
        "sigmoid": sigmoid(k * r),
        "tanh": sum(math.tanh(gap) for gap in gaps) / len(gaps),
        "polynomial": sum(polynomial(gap) for gap in gaps) / len(gaps),
        "log_sigmoid": math.log(sigmoid(r - quantile)),
        "ceiling": min(r, ceiling),
        "mean_std": (r - mean) / std,
        "min_max": (r - low) / (high - low),
        "clip": min(max(r, mean - std), mean + std),
    }[shaping]


def test_shaped_scores_matches_its_example():
    for shaping, value in (("centred", -0.3333), ("tanh", -0.0675), ("log_sigmoid", -1.8056)):
        assert shaped(shaping).outcome[0] == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("shaping", get_args(Shaping))
def test_every_shaping_equals_a_slow_loop(shaping):
    found = shaped(shaping, steepness=1.0)
    assert found.outcome == pytest.approx([slow(shaping, one, REFERENCES.tolist()) for one in SCORES], abs=1e-6)
    assert found.channels["score"].tolist() == SCORES


@pytest.mark.parametrize("shaping", get_args(Shaping))
def test_an_unscored_rollout_stays_unscored(shaping):
    assert np.isnan(shaped(shaping, [2.0, np.nan]).outcome).tolist() == [False, True]


@pytest.mark.parametrize("shaping", get_args(Shaping))
def test_no_shaping_turns_the_order_of_two_scores_around(shaping):
    found = shaped(shaping, sorted([-9.0, *SCORES, 2.5, 40.0])).outcome
    slack = 0.02 if shaping == "polynomial" else 0.0  # the fit rises above 1 before 5
    assert (np.diff(found) >= -slack).all()


def test_steepness_and_ceiling_are_used():
    assert shaped("sigmoid", [1.0], steepness=2.0).outcome[0] == pytest.approx(sigmoid(2.0))
    assert shaped("win_rate", [1.0], steepness=2.0).outcome[0] == pytest.approx(
        slow("win_rate", 1.0, REFERENCES, k=2.0)
    )
    assert shaped("ceiling", [1.0, 9.0], ceiling=0.5).outcome.tolist() == [0.5, 0.5]


def test_win_rate_is_the_reward_of_the_library():
    own = rewards.win_rate(score=lambda group: make_scores([2.0]), references=lambda task: REFERENCES)(
        make_group(size=1)
    )
    assert shaped("win_rate", [2.0]).outcome == pytest.approx(own.outcome)


def test_running_scores_match_their_example():
    known = running(first=(50.0,))
    assert known.figures == (50.0, 0.0, 50.0, 50.0)
    assert known.learn([rated(1.0, 3.0)], step=0) == {"mean": 2.0, "std": 1.0, "low": 1.0, "high": 3.0}
    known.learn([rated(5.0, np.nan)], step=1)
    assert known.figures == pytest.approx((3.0, (8 / 3) ** 0.5, 1.0, 5.0))


def test_running_scores_equal_those_of_all_scores_at_once_and_are_resumed():
    rng = np.random.default_rng(0)
    steps = [[rng.normal(3, 2, size=3) for _ in range(2)] for _ in range(5)]
    known, seen = running(), []
    for number, step in enumerate(steps):
        state = json.loads(json.dumps(known.state_dict()))  # as in a checkpoint, also before the first score
        known = running()
        known.load_state_dict(state)
        known.learn([rated(*one) for one in step], step=number)
        seen += [score for one in step for score in one]
    assert known.figures == pytest.approx((np.mean(seen), np.std(seen), min(seen), max(seen)), abs=1e-9)


def test_equal_scores_have_a_spread_of_one():
    known = running(first=(2.0, 2.0))
    assert shaped("mean_std", [2.0, 3.0], known=known).outcome.tolist() == [0.0, 1.0]
    assert shaped("min_max", [2.0, 3.0], known=known).outcome.tolist() == [0.0, 1.0]


def test_bad_input_is_one_error():
    with pytest.raises(InputError, match="shaping is 'log'; give one of win_rate, raw, "):
        shaped("log")
    for shaping in ("centred", "tanh", "log_sigmoid", "win_rate"):
        with pytest.raises(InputError, match="no reference answer"):
            shaped(shaping, references=np.zeros(0))
    with pytest.raises(InputError, match="play the references before"):
        shaped("clip", known=running(first=()))
