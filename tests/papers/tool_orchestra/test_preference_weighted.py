from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Ending, ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.adareasoner.call_schema import call_schema
from handaxe.papers.tool_orchestra.preference_weighted import preference_weighted
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.scoring import score_group
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory
from handaxe.worlds.routing.world import routing

P = {"t": 0.0, "outcome": 1.0, "cost": 0.5, "seconds": 0.5}
CONTRACT = [{"base": exact_match(), "preference": lambda task: {"outcome": 1.0, "f": 1.0, "g": 0.5, "cost": 0.5}}]
LAB = [
    LabCase(
        "preference_weighted(...)",
        partial(routing, likes=("cheap",)),
        lambda world: preference_weighted(base=world.correct),
    ),
]


def attempt(calls, right, cost, seconds, *, name="t", ending="completed"):
    """An attempt of so many calls, whose first reply bills all of the cost and time."""
    bills = [(cost, seconds) if k == 0 else (0.0, 0.0) for k in range(calls)] or []
    replies = [[ToolReply(f"0-{k}", name, "x", "ok", own[1], own[0]) for k, own in enumerate(bills)], []]
    if not calls:  # what was spent without a call of this tool was spent by another
        replies = [[ToolReply("0-0", "other", "x", "ok", seconds, cost)], []]
    names = [[name] * calls or ["other"], []]
    return make_trajectory(texts=["", "4" if right else "5"], calls=names, replies=replies, ending=ending)


def group_of(*attempts, preference=P):
    task = make_task(answer="4", metadata={} if preference is None else {"preference": preference})
    return make_group(trajectories=[attempt(*one) if isinstance(one, tuple) else one for one in attempts], task=task)


EXAMPLE = ((2, True, 0.10, 30.0), (0, True, 0.02, 10.0), (5, False, 0.50, 90.0))
SIBLINGS = group_of(*EXAMPLE)


def test_preference_weighted_equals_the_worked_example():
    scores = preference_weighted(base=exact_match())(group_of(*EXAMPLE))
    assert scores.outcome.tolist() == pytest.approx([1.7917, 2.0, 0.0], abs=5e-5)
    assert scores.channels["base"].tolist() == [1, 1, 0]
    shares = {"t": [0.4, 0, 1], "outcome": [1, 1, 0], "cost": [0.8333, 1, 0], "seconds": [0.75, 1, 0]}
    for name, expected in shares.items():
        assert scores.channels[f"preferred/{name}"].tolist() == pytest.approx(expected, abs=5e-5)


def test_the_outcome_coordinate_is_zero_if_all_are_correct():
    right = group_of((1, True, 3.0, 1.0), (1, True, 1.0, 1.0), preference={"outcome": 1.0, "cost": 0.5})
    assert preference_weighted(base=exact_match())(right).outcome.tolist() == [0.0, 0.5]


def test_coordinates_equal_up_to_rounding_are_zero():
    same = group_of((1, True, 0.3, 1.0), (1, True, 0.1 + 0.2, 1.0), preference={"cost": 1.0, "seconds": 1.0, "t": 1.0})
    assert preference_weighted(base=exact_match())(same).outcome.tolist() == [0.0, 0.0]
    assert preference_weighted(base=exact_match())(group_of((1, True, 5.0, 1.0))).outcome.tolist() == [0.0]


def test_swapped_tool_weights_swap_the_order():
    attempts = attempt(1, True, 1.0, 1.0, name="a"), attempt(1, True, 1.0, 1.0, name="b")
    reward = preference_weighted(base=exact_match())
    assert reward(group_of(*attempts, preference={"a": 1.0, "b": 0.0})).outcome.tolist() == [1.0, 0.0]
    assert reward(group_of(*attempts, preference={"a": 0.0, "b": 1.0})).outcome.tolist() == [0.0, 1.0]


def test_unscored_siblings_change_nothing():
    reward = preference_weighted(base=exact_match())
    gone = attempt(9, True, 99.0, 999.0, ending=Ending("infra_error", "gone"))
    _, scores = score_group(reward, group_of(*EXAMPLE, gone))
    assert scores.outcome[:3].tolist() == reward(group_of(*EXAMPLE)).outcome.tolist() and np.isnan(scores.outcome[3])


def test_preference_weighted_equals_a_slow_loop():
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows = [
            (int(rng.integers(0, 4)), bool(rng.integers(2)), float(rng.integers(1, 5)), float(rng.integers(1, 5)))
            for _ in range(int(rng.integers(1, 5)))
        ]
        weights = {"t": 0.25, "outcome": 1.0, "cost": 0.5, "seconds": 0.75}
        vectors = [{"t": c, "outcome": float(r), "cost": -p, "seconds": -s} for c, r, p, s in rows]
        expected = []
        for vector in vectors:
            value = 0.0
            for name, weight in weights.items():
                column = [other[name] for other in vectors]
                if max(column) > min(column):
                    value += weight * (vector[name] - min(column)) / (max(column) - min(column))
            expected.append(vector["outcome"] * value)
        scores = preference_weighted(base=exact_match())(group_of(*rows, preference=weights))
        assert scores.outcome.tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("wrong", [None, {"cost": 1.5}, {"cost": "much"}, {"cost": float("nan")}])
def test_a_missing_or_bad_preference_raises_task_error(wrong):
    with pytest.raises(TaskError, match="preference"):
        preference_weighted(base=exact_match())(group_of(*EXAMPLE, preference=wrong))


def test_preference_weighted_refuses_turn_rewards():
    with pytest.raises(InputError, match="rewards.turns_to_outcome"):
        preference_weighted(base=lambda group: make_scores([1.0], turns=[[1.0, 1.0]]))(group_of(EXAMPLE[0]))


def test_turn_channels_of_the_base_are_kept():
    base = weighted({"right": (1.0, exact_match()), "fit": (0.0, call_schema())})
    group = group_of(*EXAMPLE)
    found = preference_weighted(base=base)(group).turn_channels
    assert list(found) == ["base/fit/call_schema"]
    for own, wanted in zip(found["base/fit/call_schema"], base(group).turn_channels["fit/call_schema"], strict=True):
        np.testing.assert_array_equal(own, wanted)
