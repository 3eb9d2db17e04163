import math
from math import inf

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.papers.restart_policy.failure_detector import (
    FailureDetector,
    failure_detector,
    first_alarm,
    turn_features,
)
from handaxe.testing.make_records import make_trajectory


def attempt(replies, logp=-0.5):
    """An attempt with a call and a reply a turn; ! marks a failed one."""
    said = [[ToolReply(f"{k}-0", "act", text, "failed" if "!" in text else "ok")] for k, text in enumerate(replies)]
    return make_trajectory(texts=[""] * len(said), calls=[["act"]] * len(said), replies=said, logp=logp)


def test_features_by_hand():
    found = turn_features(attempt(["wall!", "wall!", "door"]), 4)
    expected = [
        [1, 0, 0, 0, 1, 0, 1, -0.5],
        [0, 1, 0, 0, 1, 1 / 2, 1, -0.5],
        [0, 0, 1, 0, 2 / 3, 1 / 3, 0, -0.5],
    ]
    assert found == pytest.approx(np.array(expected), abs=1e-6)


def test_features_of_a_beginning_are_those_of_the_whole():
    whole = attempt(["a", "b!", "a", "b!"])
    for turns in range(1, 5):
        begun = attempt(["a", "b!", "a", "b!"][:turns])
        assert turn_features(begun, 4) == pytest.approx(turn_features(whole, 4)[:turns], abs=1e-12)


def test_a_turn_without_call_has_no_replies():
    silent = make_trajectory(texts=["done"], calls=[[]], replies=[[]])
    assert turn_features(silent, 1)[0, 1:4].tolist() == [0, 0, 0]


def test_probabilities_equal_a_slow_loop():
    one = attempt(["a", "b!", "b!"])
    weight_D = np.linspace(-1, 1, 8)
    found = FailureDetector(weight_D, 4).probabilities(one)
    for k, row in enumerate(turn_features(one, 4)):
        total = 0.0
        for value, weight in zip(row, weight_D, strict=True):
            total += value * weight
        assert found[k] == pytest.approx(1 / (1 + math.exp(-total)), abs=1e-9)


def test_the_fit_separates_failing_attempts_and_has_no_gradient():
    attempts = [attempt(["w!", "w!", "w!"]), attempt(["a", "b", "c"])] * 10
    success_N = [False, True] * 10
    found = failure_detector(attempts, success_N, turns=3)
    assert found.probabilities(attempts[0])[0] > 0.7
    assert found.probabilities(attempts[1])[0] < 0.3
    step = 1e-5
    for d in range(len(found.weight_D)):
        ends = []
        for sign in (1, -1):
            moved_D = found.weight_D.copy()
            moved_D[d] += sign * step
            ends.append(slow_loss(moved_D, attempts, success_N))
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(0, abs=1e-2)


def slow_loss(weight_D, attempts, success_N):
    total = 0.5 * float(weight_D @ weight_D)
    for one, won in zip(attempts, success_N, strict=True):
        for probability in FailureDetector(weight_D, 3).probabilities(one)[:-1]:
            total -= math.log(1 - probability if won else probability)
    return total


def test_the_first_alarm_is_before_the_last_turn():
    assert first_alarm(np.array([0.2, 0.7, 0.9]), 0.5) == 2
    assert first_alarm(np.array([0.2, 0.9]), 0.5) == inf
    assert first_alarm(np.array([]), 0.5) == inf


@pytest.mark.parametrize("outcomes, penalty", [([True, True], 1.0), ([True], 1.0), ([True, False], 0.0)])
def test_bad_attempts_raise(outcomes, penalty):
    with pytest.raises(InputError, match="successes and failures"):
        failure_detector([attempt(["a", "b"])] * 2, outcomes, turns=2, penalty=penalty)


def test_more_turns_than_the_maximum_raise():
    with pytest.raises(InputError, match="turns=2 or more"):
        turn_features(attempt(["a", "b"]), 1)
