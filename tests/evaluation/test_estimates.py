from math import inf, isnan

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric, TaskResult
from handaxe.core.records import Ending
from handaxe.evaluation.estimates import Column, Estimate, columns, ending_shares, estimate, task_result
from handaxe.evaluation.evaluate import summarize
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.testing.make_records import make_group, make_scores, make_task, make_trajectory


def result(id="t", *, scored=4, correct=2, calls=1.0, attempts=None, endings=None, **more):
    numbers = {"reward": 0.0, "tokens": 2.0, "seconds": 0.0, "cost": 0.0} | more
    attempts = scored if attempts is None else attempts
    return TaskResult(id, attempts, scored, correct, calls=calls, endings=endings or {"completed": attempts}, **numbers)


def value(tasks, name, ks=(1,)):
    column = columns(tasks, ks=list(ks))[name]
    return estimate(column, share=name.startswith("pass")).value


def test_task_result_summarizes_scored_rollouts():
    task = make_task(answer="4", metadata={"difficulty": 2})
    group = make_group(
        task=task,
        trajectories=[
            make_trajectory(texts=["", "4"], calls=[["f", "f"], []], replies=[["1", "1"], []]),
            make_trajectory(texts=["5"]),
            make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[["1"], []], ending="infra_error"),
            make_trajectory(texts=["5"], ending=Ending("truncated", "length")),
            make_trajectory(texts=["4"], ending="verifier_error"),
        ],
    )
    nan = float("nan")
    found = task_result(group, make_scores([1.0, 0.5, nan, 0.0, nan]), correct_above=0.5)
    assert found == TaskResult(
        id="task-0",
        attempts=5,
        scored=3,
        correct=1,
        reward=0.5,
        calls=pytest.approx(2 / 3),
        tokens=pytest.approx((4 + 2 + 2) / 3),
        seconds=0.0,
        cost=0.0,
        endings={"completed": 2, "infra_error": 1, "truncated(length)": 1, "verifier_error": 1},
        metadata={"difficulty": 2},
    )


def test_unscorable_rollouts_enter_no_number():
    group = make_group(trajectories=[make_trajectory(texts=["4"], calls=[["f"]], ending="infra_error")])
    found = task_result(group, make_scores([1.0]))
    assert (found.attempts, found.scored, found.correct, found.reward, found.calls) == (1, 0, 0, 0.0, 0.0)
    with_one = [result("a", scored=2, correct=2), found]
    assert value(with_one, "pass@1") == 1.0
    assert value(with_one, "calls") == 1.0


def test_another_number_of_outcomes_is_an_error():
    with pytest.raises(InputError):
        task_result(make_group(size=2), make_scores([1.0]))


def test_pass_at_k_and_pass_hat_k_by_hand():
    tasks = [result("a", scored=4, correct=1), result("b", scored=4, correct=3)]
    assert value(tasks, "pass@1") == 0.5
    assert value(tasks, "pass@2", ks=(1, 2)) == pytest.approx((0.5 + 1.0) / 2)
    assert value(tasks, "pass^2", ks=(1, 2)) == pytest.approx((0.0 + 0.5) / 2)
    assert "pass^1" not in columns(tasks, ks=[1])


def test_a_task_with_fewer_than_k_scored_rollouts_is_left_out():
    tasks = [
        result("a", scored=4, correct=4),
        result("b", scored=1, correct=0),
        result("c", scored=0, attempts=4, correct=0),
    ]
    by_name = columns(tasks, ks=[1, 4])
    assert estimate(by_name["pass@4"], share=True)[::3] == (1.0, 1)
    assert estimate(by_name["pass@1"], share=True)[::3] == (0.5, 2)


def test_calls_per_correct_and_tool_productivity_by_hand():
    tasks = [result("a", correct=4, calls=1.0), result("b", correct=2, calls=3.0)]
    # 16 calls and 6 correct of 8 attempts
    assert value(tasks, "calls_per_correct") == pytest.approx(16 / 6)
    assert value(tasks, "tool_productivity") == pytest.approx(6 / 16)
    assert value([result(correct=0)], "calls_per_correct") == inf
    assert value([result(correct=1, calls=0.0)], "tool_productivity") == inf
    assert isnan(value([result(correct=0, calls=0.0)], "tool_productivity"))


def test_means_give_tasks_equal_weight():
    tasks = [result("a", reward=1.0, tokens=2.0, seconds=3.0, cost=4.0), result("b", calls=3.0)]
    names = ("reward", "calls", "tokens", "seconds", "cost")
    assert [value(tasks, name) for name in names] == [0.5, 2.0, 2.0, 1.5, 2.0]


def test_ending_shares_include_unscored_rollouts():
    tasks = [
        result("a", attempts=4, scored=3, endings={"completed": 3, "infra_error": 1}),
        result("b", attempts=2, scored=2, endings={"completed": 2}),
    ]
    shares = {name: estimate(column, share=True).value for name, column in ending_shares(tasks).items()}
    assert shares == {"completed": 0.875, "infra_error": 0.125}


def test_all_correct_or_all_wrong_has_wilsons_interval():
    none = columns([result(str(i), correct=0) for i in range(5)], ks=[1])["pass@1"]
    assert estimate(none, share=True) == Estimate(0.0, 0.0, pytest.approx(1 - 0.5655, abs=5e-5), 5)
    column = columns([result(str(i), correct=4) for i in range(5)], ks=[1])["pass@1"]
    assert estimate(column, share=True) == Estimate(1.0, pytest.approx(0.5655, abs=5e-5), pytest.approx(1.0), 5)
    one = columns([result(correct=4)], ks=[1])["pass@1"]
    assert estimate(one, share=True).low < 0.3


def test_the_interval_is_over_tasks():
    few = [result(str(i), scored=100, correct=100 * (i % 2)) for i in range(6)]
    many = [result(str(i), scored=1, correct=i % 2) for i in range(600)]
    wide, narrow = (estimate(columns(tasks, ks=[1])["pass@1"], share=True) for tasks in (few, many))
    assert wide.value == narrow.value == 0.5
    assert wide.high - wide.low > 0.5
    assert narrow.high - narrow.low < 0.1


def test_without_a_usable_task_the_value_is_nan():
    found = estimate(Column(np.zeros(2), np.zeros(2), np.zeros(2, dtype=bool)), share=True)
    assert isnan(found.value) and found[1:] == (-inf, inf, 0)


def test_gauges_and_statistics_by_hand():
    """calls for each right answer, over two tasks: (2 / 2 + 1 / 2) / (1 / 2 + 1 / 2); by hand and by a slow loop"""
    first = make_group(
        task=make_task(id="a"),
        trajectories=[
            make_trajectory(texts=["", "4"], calls=[["f", "f"], []], replies=[["1", "1"], []]),
            make_trajectory(),
        ],
    )
    second = make_group(
        task=make_task(id="b"),
        trajectories=[
            make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[["1"], []]),
            make_trajectory(),
            make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[["1"], []], ending="infra_error"),
        ],
    )
    gauge = RatioMetric(lambda one, outcome: len(one.calls), lambda one, outcome: float(outcome > 0.5))
    scored = [(first, make_scores([1, 0])), (second, make_scores([0, 1, float("nan")]))]
    found = summarize(scored, gauges={"price": gauge}, statistics={"worst": lambda tasks: min(t.reward for t in tasks)})
    assert found.tasks[0].gauges == {"price": (1.0, 0.5)} and found.tasks[1].gauges == {"price": (0.5, 0.5)}
    assert found.metrics["price"].value == (1.0 + 0.5) / (0.5 + 0.5)
    assert found.metrics["worst"].value == 0.5 and found.metrics["worst"].low <= 0.5 <= found.metrics["worst"].high
    assert Evaluation.from_json(found.to_json()).metrics["price"] == found.metrics["price"]
    with pytest.raises(InputError, match="'calls'"):
        summarize(scored, gauges={"calls": gauge})
    with pytest.raises(InputError, match="cannot be named 'steps'"):
        summarize(scored, gauges={"steps": gauge})
    with pytest.raises(InputError, match="'reward'"):
        summarize(scored, statistics={"reward": lambda tasks: 0.0})
