from functools import partial
from math import cos, pi, sin

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"base": exact_match(), "smooth": 4}]
LAB = [
    LabCase(
        "fewer_calls(smooth=3)",
        partial(arithmetic, easy=0.0, mistakes=True),
        lambda world: fewer_calls(base=world.correct, smooth=3),
    ),
]

TASK = make_task(answer="4")


def group_of(*attempts, task=TASK):
    """Attempts as (calls, right)."""
    made = []
    for count, right in attempts:
        calls, replies = [["f"] * count, []], [["1"] * count, []]
        made.append(make_trajectory(texts=["", "4" if right else "5"], calls=calls, replies=replies, task=task))
    return make_group(trajectories=made, task=task)


def build(**more):
    return fewer_calls(base=exact_match(), smooth=4, **more)


def near(*values):
    return pytest.approx(list(values), abs=5e-5)


def test_efficiency_with_two_least_calls_equals_the_worked_example():
    scores = build()(group_of((2, True), (4, True), (1, False), (0, False)))
    assert scores.channels["efficiency"].tolist() == near(1, 0.8660, 0.8660, 0)
    assert scores.channels["base"].tolist() == [1, 1, 0, 0]
    assert scores.outcome.tolist() == near(1, 0.8660, 0, 0)


def test_efficiency_with_no_least_call_equals_the_worked_example():
    scores = build()(group_of((0, True), (1, True), (2, True)))
    assert scores.outcome.tolist() == near(1, 0.8660, 0.7071)


def test_efficiency_without_hindsight_equals_the_worked_example():
    reward = build(hindsight=False)
    assert reward(group_of((4, True), (0, True), (4, False))).outcome.tolist() == near(0.5, 1, 0)
    assert reward.least == {}


def test_alpha_scales_the_reward():
    assert build(alpha=3.0)(group_of((2, True), (4, True))).outcome.tolist() == near(3, 3 * sin(2 * pi / 3))


def test_the_least_calls_are_stored_per_task_and_only_fall():
    reward, other = build(), make_task(id="other", answer="4")
    reward(group_of((3, True)))
    assert reward.least == {"task-0": 3}
    assert reward(group_of((1, True))).outcome.tolist() == [1]
    assert reward.least == {"task-0": 1}
    # n = 1 now: f(3, 1) = 1.5, sin(1.5 pi / 2)
    assert reward(group_of((3, True))).outcome.tolist() == near(sin(1.5 * pi / 2))
    assert reward(group_of((3, True), task=other)).outcome.tolist() == [1]
    assert reward.least == {"task-0": 1, "other": 3}


def test_an_unsolved_task_has_efficiency_zero():
    reward = build()
    scores = reward(group_of((2, False), (0, False)))
    assert scores.outcome.tolist() == [0, 0] and scores.channels["efficiency"].tolist() == [0, 0]
    assert reward.least == {}


def test_fewer_calls_restores_its_state():
    reward, twin = build(), build()
    reward(group_of((2, True)))
    twin.load_state_dict(reward.state_dict())
    assert twin(group_of((4, True))).outcome.tolist() == near(0.8660)
    twin(group_of((1, True)))
    assert reward.least == {"task-0": 2}
    nested = fewer_calls(base=reward, smooth=4)
    nested.load_state_dict({"least": {}, "base": {"least": {"task-0": 7}}})
    assert nested.state_dict() == {"least": {}, "base": {"least": {"task-0": 7}}}


def test_correct_siblings_exceed_correct_above():
    def base(group):
        return make_scores([0.2, 1.2])

    group = group_of((1, False), (3, True))
    assert fewer_calls(base=base, smooth=4, correct_above=0.5)(group).channels["efficiency"][1] == 1
    loose = fewer_calls(base=base, smooth=4)
    loose(group)
    assert loose.least == {"task-0": 1}


def test_a_negative_base_reward_is_not_scaled():
    reward = fewer_calls(base=lambda group: make_scores([1.0, -1.0, 0.5]), smooth=4)
    outcome = reward(group_of((1, True), (4, False), (2, True))).outcome
    assert outcome == pytest.approx([1.0, -1.0, 0.5 * sin(2 * pi / 3)])


def test_fewer_calls_refuses_turn_rewards_and_bad_smoothing():
    with pytest.raises(InputError, match="rewards.turns_to_outcome"):
        fewer_calls(base=lambda group: make_scores([1.0], turns=[[1.0, 1.0]]), smooth=4)(group_of((1, True)))
    with pytest.raises(InputError, match="smooth"):
        fewer_calls(base=exact_match(), smooth=0)


def test_fewer_calls_equals_a_slow_loop():
    c = 4
    for counts in ([(3, True), (5, True), (1, False)], [(0, True), (6, True)], [(7, True)], [(2, False)]):
        n = None
        for m, right in counts:
            if right and (n is None or m < n):
                n = m
        expected = []
        for m, right in counts:
            if n is None:
                tool = 0.0
            else:
                f = 0 if m == n == 0 else m if n == 0 else 2 * n * m / (m + n)
                tool = 1.0 if f == n == 0 else cos(m * pi / (2 * m + c)) if n == 0 else sin(f * pi / (2 * n))
            expected.append(tool * right)
        assert build()(group_of(*counts)).outcome.tolist() == pytest.approx(expected)
