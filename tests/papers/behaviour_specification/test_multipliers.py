import json
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.core.records import Advantages, RatedGroup, Scores
from handaxe.papers.behaviour_specification.multipliers import Constraint, multipliers
from handaxe.testing.make_records import make_group

UPPER = {"a": Constraint(0.3), "b": Constraint(0.5)}
BOTH = {"task": Constraint(0.5, at_least=True), "calls": Constraint(0.25)}


@cache
def rollouts(size):
    group = make_group(layouts=["Utp"] * size)
    return group, Advantages(tuple(tuple(np.zeros(len(sequence)) for sequence in one.sequences) for one in group))


def rated(**channels):
    size = len(next(iter(channels.values())))
    group, nothing = rollouts(size)
    scores = Scores(np.zeros(size), channels={name: np.array(value, float) for name, value in channels.items()})
    return RatedGroup.of(group, scores, nothing)


def weights(learner, *names):
    return [learner.weight(name)(0) for name in names]


def slow_adam(constraints, history, rate):
    """Multipliers after several steps: softmax gradient and Adam in loops."""
    size = len(constraints) + 1
    z, first, second = [0.0] * size, [0.0] * size, [0.0] * size
    for step, shares in enumerate(history, 1):
        odds = [math.exp(one) for one in z]
        lam = [one / sum(odds) for one in odds]
        v = [0.0] + [
            (c.threshold - x) if c.at_least else (x - c.threshold) for c, x in zip(constraints.values(), shares)
        ]
        goal = sum(lam[k] * v[k] for k in range(size))
        for k in range(size):
            slope = lam[k] * (v[k] - goal)
            first[k] = 0.9 * first[k] + 0.1 * slope
            second[k] = 0.999 * second[k] + 0.001 * slope**2
            z[k] += rate * first[k] / (1 - 0.9**step) / (math.sqrt(second[k] / (1 - 0.999**step)) + 1e-5)
    odds = [math.exp(one) for one in z]
    return [one / sum(odds) for one in odds]


def test_one_step_matches_its_example():
    learner = multipliers(UPPER, task="task", rate=0.1)
    assert weights(learner, "task", "a", "b") == pytest.approx([1 / 3, -1 / 3, -1 / 3])
    found = learner.learn([rated(a=[1, 0], b=[1, 0])], step=0)
    # Gradients 1/3 (0.2 - 0.0667) = 0.0444 and -0.0222: Adam moves z by 0.1 g / (|g| + 1e-5).
    z = [-0.1 * (0.2 / 9) / (0.2 / 9 + 1e-5), 0.1 * (0.4 / 9) / (0.4 / 9 + 1e-5)]
    assert learner.logits == pytest.approx([z[0], z[1], z[0]], abs=1e-9)
    lam = math.exp(z[1]) / (math.exp(z[1]) + 2 * math.exp(z[0]))
    assert lam == pytest.approx(0.3791, abs=1e-4)
    assert found == pytest.approx(
        {
            "share/a": 0.5, "share/b": 0.5, "violation/a": 0.2, "violation/b": 0.0, "broken": 1, "moved": lam - 1 / 3,
            "weight/task": (1 - lam) / 2, "weight/a": -lam, "weight/b": -(1 - lam) / 2,
        },
        abs=1e-6,
    )  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6))
def test_multipliers_equal_a_slow_loop_of_adam(counts):
    learner = multipliers(BOTH, task="task", rate=0.3)
    for right, called in counts:
        learner.learn([rated(task=[1] * right + [0] * (4 - right), calls=[1] * called + [0] * (4 - called))], step=0)
    free, success, calls = slow_adam(BOTH, [(right / 4, called / 4) for right, called in counts], 0.3)
    assert free + success + calls == pytest.approx(1)
    assert weights(learner, "task", "calls") == pytest.approx([max(free, success) + success, -calls], abs=1e-6)


def test_a_missing_success_lends_weight_to_the_task_and_kept_bounds_return_theirs():
    learner = multipliers(BOTH, task="task", rate=0.1)
    for _ in range(10):
        learner.learn([rated(task=[0, 0], calls=[1, 0])], step=0)
    strong, calls = weights(learner, "task", "calls")
    assert strong > 2 / 3 and -1 / 3 < calls < 0
    for _ in range(40):
        learner.learn([rated(task=[1, 1], calls=[1, 1])], step=0)
    weak, strict = weights(learner, "task", "calls")
    assert weak < strong and strict < calls


def test_a_policy_is_led_to_the_thresholds():
    # A policy of three habits: never call, call, call twice. Half of the tasks need a call; a second one fails.
    learner = multipliers(
        {"answer": Constraint(0.7, at_least=True), "calls": Constraint(0.55), "errors": Constraint(0.1)}, task="answer"
    )
    logits, shares = np.array([[-1.0, 1.0, 0.5]] * 2), []
    right = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    called, failed = np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])
    rng = np.random.default_rng(0)
    for _ in range(60):
        answer, calls, errors = weights(learner, "answer", "calls", "errors")
        groups = []
        for kind in (0, 1) * 4:
            p = np.exp(logits[kind]) / np.exp(logits[kind]).sum()
            drawn = rng.choice(3, size=8, p=p)
            reward = answer * right[kind, drawn] + calls * called[drawn] + errors * failed[drawn]
            advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
            for habit, value in zip(drawn, advantage):
                logits[kind] += 0.04 * value * (np.eye(3)[habit] - p)
            groups.append(rated(answer=right[kind, drawn], calls=called[drawn], errors=failed[drawn]))
        found = learner.learn(groups, step=0)
        shares.append([found[f"share/{name}"] for name in ("answer", "calls", "errors")])
    last = np.mean(shares[-10:], axis=0)
    assert shares[0][1] > 0.7 and shares[0][2] > 0.2
    assert last[0] > 0.7 and last[1] < 0.6 and last[2] < 0.1


def test_unscored_rollouts_count_for_nothing():
    learner, other = (multipliers(UPPER, task="task") for _ in range(2))
    learner.learn([rated(a=[1, math.nan, 0], b=[1, math.nan, 0])], step=0)
    other.learn([rated(a=[1, 0], b=[1, 0])], step=0)
    assert learner.logits == other.logits
    silent = multipliers(UPPER, task="task")
    found = silent.learn([rated(a=[math.nan], b=[math.nan])], step=0)
    assert silent.logits == [0, 0, 0] and found["moved"] == 0 and "share/a" not in found
    assert silent.learn([], step=0)["moved"] == 0


def test_a_restored_copy_goes_on_to_the_bit():
    learner, copy = (multipliers(BOTH, task="task") for _ in range(2))
    seen = [rated(task=[1, 0, 0], calls=[1, 1, 0]), rated(task=[0, 0], calls=[0, 1]), rated(task=[1], calls=[1])]
    learner.learn(seen[:1], step=0)
    learner.learn(seen[1:2], step=1)
    copy.load_state_dict(json.loads(json.dumps(learner.state_dict())))
    assert copy.learn(seen[2:], step=2) == learner.learn(seen[2:], step=2)
    assert copy.state_dict() == learner.state_dict()


def test_fixed_weights_are_measured_alone():
    learner = multipliers(BOTH, task="task", learns=False, fixed=0.4)
    found = learner.learn([rated(task=[0, 0], calls=[1, 1])], step=0)
    assert weights(learner, "task", "calls") == [1, -0.4] and found["moved"] == 0
    assert found["violation/task"] == 0.5 and found["broken"] == 2


@pytest.mark.parametrize(
    "constraints, options, match",
    [
        ({}, {}, "one or more"),
        (UPPER, {"rate": 0.0}, "above 0"),
        ({"a": Constraint(1.5)}, {}, "from 0 to 1"),
        ({"task": Constraint(0.5)}, {}, "at_least=True"),
        (UPPER, {"fixed": 1.0}, "only without learning"),
        (UPPER, {"fixed": -1.0, "learns": False}, "0 or more"),
    ],
)
def test_invalid_arguments_are_rejected(constraints, options, match):
    with pytest.raises(InputError, match=match):
        multipliers(constraints, task="task", **options)


def test_missing_channels_and_other_values_than_indicators_are_rejected():
    with pytest.raises(InputError, match="no channel 'b'"):
        multipliers(UPPER, task="task").learn([rated(a=[1, 0])], step=0)
    with pytest.raises(InputError, match="other than 0 and 1"):
        multipliers(UPPER, task="task").learn([rated(a=[0.5, 0], b=[1, 0])], step=0)
