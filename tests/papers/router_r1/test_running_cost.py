import json
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.adareasoner.call_schema import call_schema
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.papers.router_r1.running_cost import running_cost
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.turns_to_outcome import turns_to_outcome
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory
from handaxe.worlds.routing.world import routing

TASK = make_task(answer="4")


def costing(cost, right=True):
    replies = [[ToolReply("0-0", "f", "x", cost=cost)], []]
    return make_trajectory(texts=["", "4" if right else "5"], calls=[["f"], []], replies=replies, task=TASK)


def group_of(*attempts):
    """Attempts as costs, or as (cost, right)."""
    made = [costing(*one) if isinstance(one, tuple) else costing(one) for one in attempts]
    return make_group(trajectories=made, task=TASK)


SIBLINGS = group_of((4.0, True), (1.0, False), (9.0, True), (0.0, False), (25.0, True))
CONTRACT = [
    {},
    {"base": exact_match(), "share": 0.6},
    {"window": 4},
    {"base": fewer_calls(base=exact_match(), smooth=4)},
]
LAB = [
    LabCase("running_cost(...)", routing, lambda world: running_cost(base=world.correct)),
]


def remembering(*roots, **more):
    made = running_cost(**more)
    made.load_state_dict({"seen": list(roots), "base": {}})
    return made


def test_running_cost_equals_the_worked_example():
    assert remembering(0, 10, 30)(group_of(400.0)).outcome.tolist() == pytest.approx([0.3148], abs=5e-5)
    for right, expected in ((True, 0.5889), (False, 0.0)):
        reward = remembering(0, 10, 30, base=exact_match(), share=0.6)
        scores = reward(group_of((400.0, right)))
        assert scores.outcome.tolist() == pytest.approx([expected], abs=5e-5)
        assert scores.channels["cost"].tolist() == pytest.approx([0.3148], abs=5e-5)
        assert scores.channels["base"].tolist() == [float(right)]
    assert running_cost()(group_of(7.0, 7.0)).outcome.tolist() == [0.5, 0.5]


def test_running_cost_equals_a_slow_loop():
    rng = np.random.default_rng(0)
    reward, seen = running_cost(window=12), []
    for _ in range(6):
        costs = rng.integers(0, 50, 4).astype(float).tolist()
        expected = []
        for root in sorted(cost**0.5 for cost in costs):
            seen = (seen + [root])[-12:]
        ranked = sorted(seen)
        ends = []
        for share in (0.05, 0.95):
            place = share * (len(ranked) - 1)
            below = int(place)
            above = min(below + 1, len(ranked) - 1)
            ends.append(ranked[below] + (place - below) * (ranked[above] - ranked[below]))
        low, high = ends
        for cost in costs:
            if high - low < 1e-8:
                expected.append(0.5)
            else:
                expected.append(1 - min(max((cost**0.5 - low) / (high - low), 0.0), 1.0))
        assert reward(group_of(*costs)).outcome.tolist() == pytest.approx(expected, abs=1e-12)


def test_rewards_do_not_depend_on_the_order_of_siblings():
    costs = [1.0, 4.0, 100.0]
    forward = remembering(3.0)(group_of(*costs)).outcome
    backward = remembering(3.0)(group_of(*costs[::-1])).outcome[::-1]
    assert np.array_equal(forward, backward)


def test_the_window_does_not_depend_on_the_order_of_siblings():
    first, second = running_cost(window=4), running_cost(window=4)
    first(group_of(1.0, 81.0, 16.0))
    second(group_of(81.0, 16.0, 1.0))
    assert first.state_dict() == second.state_dict()
    later = group_of(4.0, 9.0)  # pushes one of the three out
    assert first(later).outcome.tolist() == second(later).outcome.tolist()


def test_running_cost_restores_its_window():
    groups = [group_of(*np.random.default_rng(k).integers(0, 99, 3).astype(float)) for k in range(6)]
    whole, early = running_cost(window=8), running_cost(window=8)
    for group in groups[:2]:
        early(group)
    assert len(early.seen) == 6 < 8
    late = running_cost(window=8)
    late.load_state_dict(json.loads(json.dumps(early.state_dict())))
    told = [whole(group).outcome.tolist() for group in groups]
    assert [late(group).outcome.tolist() for group in groups[2:]] == told[2:]
    assert late.state_dict() == whole.state_dict()


def test_a_wrong_rollout_gains_nothing_and_enters_the_window():
    reward = running_cost(base=exact_match(), share=0.9)
    scores = reward(group_of((0.0, False), (100.0, True), (100.0, False)))
    assert scores.outcome.tolist() == pytest.approx([0.0, 0.1, 0.0])
    assert reward.seen == [0.0, 10.0, 10.0]
    penalty = running_cost(base=lambda group: make_scores([-1.0, 1.0]), share=0.5)
    assert penalty(group_of(0.0, 9.0)).outcome.tolist() == pytest.approx([-1.0, 0.5])


def test_a_share_of_zero_gives_the_base():
    group = group_of((4.0, True), (1.0, False))
    assert running_cost(base=exact_match(), share=0.0)(group).outcome.tolist() == [1.0, 0.0]


def test_running_cost_restores_the_state_of_its_base():
    inner = fewer_calls(base=exact_match(), smooth=4)
    reward = running_cost(base=inner, share=0.5)
    reward(group_of((4.0, True)))
    twin = running_cost(base=fewer_calls(base=exact_match(), smooth=4), share=0.5)
    twin.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    assert twin.state_dict() == reward.state_dict() and reward.state_dict()["base"] == {"least": {"task-0": 1}}


def test_running_cost_takes_a_cost_function_and_refuses_bad_costs():
    by_length = running_cost(cost=lambda one: float(len(one.final_text)))
    assert by_length(group_of((0.0, True), (0.0, False))).outcome.tolist() == [0.5, 0.5]
    for wrong in (-1.0, float("nan")):
        with pytest.raises(VerifierError):
            running_cost(cost=lambda one, wrong=wrong: wrong)(group_of(1.0))


@pytest.mark.parametrize("arguments", [{"share": 1.0}, {"share": -0.1}, {"low": 0.9, "high": 0.1}, {"window": 0}])
def test_running_cost_refuses_numbers_out_of_range(arguments):
    with pytest.raises(InputError, match="running_cost"):
        running_cost(**arguments)


def test_running_cost_refuses_turn_rewards():
    turned = make_group(trajectories=[replace(costing(1.0))], task=TASK)
    with pytest.raises(InputError, match="rewards.turns_to_outcome"):
        running_cost(base=lambda group: make_scores([1.0], turns=[[1.0, 1.0]]))(turned)
    whole = turns_to_outcome(lambda group: make_scores([1.0], turns=[[1.0, 1.0]]))
    assert running_cost(base=whole, share=0.0)(turned).outcome.tolist() == [3.0]


def test_turn_channels_of_the_base_are_kept():
    base = weighted({"right": (1.0, exact_match()), "fit": (0.0, call_schema())})
    group = group_of((4.0, True), (1.0, False))
    found = running_cost(base=base)(group).turn_channels
    assert list(found) == ["base/fit/call_schema"]
    for own, wanted in zip(found["base/fit/call_schema"], base(group).turn_channels["fit/call_schema"], strict=True):
        np.testing.assert_array_equal(own, wanted)


def test_the_most_expensive_correct_answer_earns_more_than_a_wrong_one():
    scores = running_cost(base=exact_match())(group_of((900.0, True), (0.0, False), (1.0, True)))
    assert scores.outcome[0] == pytest.approx(0.4) and scores.outcome[1] == 0
