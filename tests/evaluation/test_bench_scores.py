"""Figures of judges on benches: by hand, against slow loops, ties, missing data, and intervals over tasks."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.evaluation.bench_scores import (
    ANSWERS,
    PAIRS,
    STEPS,
    answer_figures,
    answer_sums,
    bench_figures,
    comparison_figures,
    comparison_sums,
    first_error,
    step_figures,
    step_sums,
)

ONE_WRONG = np.array([True, True, True, False])
GRID = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.95, 1.0])


def values(form, tasks):
    return {name: one.value for name, one in bench_figures(form, tasks, resamples=2).items()}


def added(rows):
    return {name: sum(row[name] for row in rows) for name in rows[0]}


def test_first_error_is_the_first_step_below_one_half():
    assert [first_error(one) for one in ([0.9, 0.4, 0.2], [0.5, 0.7], [0.49], [])] == [1, -1, 0, -1]


def test_figures_of_steps_equal_the_hand_computed_oracle():
    """Task 1: the clean rollout 0.9, 0.8 is right; of the other, 0.9, 0.3, the second step is found. Task 2: the clean
    rollout 0.4, 0.8 is flagged; the other, 0.4, 0.6, is flagged too early. Errors 1/2, clean 1/2, F1 1/2. Verdicts
    agree at 4 of 4 and at 1 of 4 steps. The wrong step loses in both tasks, 0.3 against 0.8 and 0.6 against 0.8.
    """
    tasks = [(np.array([0.9, 0.8, 0.9, 0.3]), ONE_WRONG), (np.array([0.4, 0.8, 0.4, 0.6]), ONE_WRONG)]
    # bins of task 1 and 2: 0.3 (label 0); 0.4, 0.4 (1, 1); 0.6 (0); 0.8, 0.8 (1, 1); 0.9, 0.9 (1, 1)
    ece = (0.3 + abs(0.8 - 2) + 0.6 + abs(1.6 - 2) + abs(1.8 - 2)) / 8
    want = {"f1": 0.5, "error": 0.5, "clean": 0.5, "steps": 5 / 8, "pair": 1.0, "ece": ece}
    assert values(STEPS, tasks) == pytest.approx(want, abs=1e-9)


def test_f1_is_the_harmonic_mean_and_zero_for_two_zeros():
    sums = step_sums(np.array([0.9, 0.8, 0.9, 0.3]), ONE_WRONG)
    half = {**sums, "error_hits": np.array(1.0), "clean_hits": np.array(2.0), "tasks": np.array(2.0)}
    assert float(step_figures(half)["f1"]) == pytest.approx(2 / 3)
    none = {**sums, "error_hits": np.array(0.0), "clean_hits": np.array(0.0)}
    assert float(step_figures(none)["f1"]) == 0.0


def test_figures_of_answers_equal_the_hand_computed_oracle():
    """0.7 of the correct answer: 0.9 is above, 0.7 equal, 0.1 below. Wins 1 + 1/2 of 3. The rank is 2 or 3."""
    sums = answer_sums(np.array([0.7, 0.9, 0.7, 0.1]), np.arange(4) == 0)
    found = {name: float(one) for name, one in answer_figures(sums).items()}
    ece = (0.1 + abs(1.4 - 1) + 0.9) / 4  # bins 0.1, 0.7 twice with one label, 0.9
    assert found == pytest.approx({"pair": 0.5, "best": 0.0, "mrr": (1 / 2 + 1 / 3) / 2, "ece": ece}, abs=1e-9)


def test_equal_scores_share_the_top():
    found = values(ANSWERS, [(np.full(4, 0.5), np.arange(4) == 0)])
    assert found["pair"] == 0.5 and found["best"] == 0.25
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)


def test_figures_of_pairs_equal_the_hand_computed_oracle():
    """First wrong answer: 0.9 and 0.6, the first text twice, a win by 0.3. Second: 0.2 and 0.6, twice the wrong one."""
    sums = comparison_sums(np.array([0.9, 0.6, 0.2, 0.6]), np.array([True, False, True, False]))
    found = {name: float(one) for name, one in comparison_figures(sums).items()}
    ece = (abs(0.2 - 1) + 2 * 0.6 + abs(0.9 - 1)) / 4
    want = {"pair": 0.5, "best": 0.0, "mrr": 0.5, "ece": ece, "same": 0.5, "both": 0.0, "first": 3 / 4}
    assert found == pytest.approx(want, abs=1e-9)


def test_a_judge_that_prefers_a_position_has_pair_accuracy_one_half_and_consistency_zero():
    for chance in (0.0, 0.3, 1.0):
        found = values(PAIRS, [(np.full(6, chance), np.array([True, False] * 3))])
        assert found["pair"] == 0.5 and found["best"] == 0.25 and found["same"] == 0.0
        assert found["both"] == 0.0 and found["first"] == (chance > 0.5)


# --- slow twins ------------------------------------------------------------------------------------------------------


def slow_calibration(chances, labels):
    total, gap = len(chances), 0.0
    for k in range(10):
        inside = [i for i, p in enumerate(chances) if k <= p * 10 < k + 1 or (k == 9 and p == 1)]
        if inside:
            mean = sum(chances[i] for i in inside) / len(inside)
            gap += len(inside) / total * abs(mean - sum(labels[i] for i in inside) / len(inside))
    return gap


def slow_steps(tasks):
    error = clean = agreeing = wins = steps = 0
    for chance, correct in tasks:
        half = len(chance) // 2
        wrong = next(k for k in range(half) if not correct[half + k])
        for k in range(half):
            if chance[half + k] < 0.5:
                error += k == wrong
                break
        clean += all(p >= 0.5 for p in chance[:half])
        agreeing += sum((p >= 0.5) == label for p, label in zip(chance, correct))
        steps += len(chance)
        right, other = chance[wrong], chance[half + wrong]
        wins += 1 if right > other else 0.5 if right == other else 0
    a, b = error / len(tasks), clean / len(tasks)
    return {
        "f1": 2 * a * b / (a + b) if a + b else 0.0,
        "error": a,
        "clean": b,
        "steps": agreeing / steps,
        "pair": wins / len(tasks),
    }


def slow_answers(scores):
    """Ranks by all orders of the answers that are sorted by score."""
    wins = 0.0
    best = []
    ranks = []
    pairs = 0
    for own, *others in scores:
        for one in others:
            pairs += 1
            wins += 1 if own > one else 0.5 if own == one else 0
        places = []
        for order in itertools.permutations(range(len(others) + 1)):
            ordered = [[own, *others][k] for k in order]
            if ordered == sorted(ordered, reverse=True):
                places.append(order.index(0) + 1)
        best.append(sum(place == 1 for place in places) / len(places))
        ranks.append(sum(1 / place for place in places) / len(places))
    return {"pair": wins / pairs, "best": sum(best) / len(best), "mrr": sum(ranks) / len(ranks)}


@given(st.lists(st.lists(GRID, min_size=6, max_size=6), min_size=1, max_size=4), st.integers(0, 2))
def test_figures_of_steps_equal_a_slow_loop(rows, wrong):
    tasks = [(np.array(row), np.arange(6) != 3 + wrong) for row in rows]
    found = values(STEPS, tasks)
    flat = [(p, label) for chance, correct in tasks for p, label in zip(chance, correct)]
    want = {**slow_steps(tasks), "ece": slow_calibration([p for p, _ in flat], [label for _, label in flat])}
    assert found == pytest.approx(want, abs=1e-9)


@given(st.lists(st.lists(GRID, min_size=4, max_size=4), min_size=1, max_size=4))
def test_figures_of_answers_equal_a_slow_loop_over_all_orders(rows):
    tasks = [(np.array(row), np.arange(4) == 0) for row in rows]
    want = slow_answers(rows)
    want["ece"] = slow_calibration([p for row in rows for p in row], [k == 0 for row in rows for k in range(4)])
    assert values(ANSWERS, tasks) == pytest.approx(want, abs=1e-9)


@given(st.lists(st.lists(GRID, min_size=4, max_size=4), min_size=1, max_size=4))
def test_figures_of_pairs_equal_a_slow_loop(rows):
    tasks = [(np.array(row), np.array([True, False, True, False])) for row in rows]
    found = values(PAIRS, tasks)
    scores = [[0.5, *(0.5 + (row[k + 1] - row[k]) / 2 for k in (0, 2))] for row in rows]
    same = [
        (a > 0.5 and b < 0.5) or (a < 0.5 and b > 0.5) or a == b == 0.5 for row in rows for a, b in (row[:2], row[2:])
    ]
    assert {name: found[name] for name in ("pair", "best", "mrr")} == pytest.approx(slow_answers(scores), abs=1e-9)
    assert found["same"] == pytest.approx(sum(same) / len(same))
    both = [a > 0.5 > b for row in rows for a, b in (row[:2], row[2:])]
    first = [1 if p > 0.5 else 0.5 if p == 0.5 else 0 for row in rows for p in row]
    assert found["both"] == pytest.approx(sum(both) / len(both)) and found["both"] <= found["same"]
    assert found["first"] == pytest.approx(sum(first) / len(first))


# --- intervals -------------------------------------------------------------------------------------------------------


def test_intervals_resample_tasks():
    """A win in half of the tasks: the interval of 100 tasks is that of a coin, 1.96 times 0.05 to each side."""
    correct = np.array([True, False])
    tasks = [(np.array([0.9, 0.1]) if k % 2 else np.array([0.1, 0.9]), correct) for k in range(100)]
    found = bench_figures(ANSWERS, tasks, resamples=4000)["pair"]
    assert found.value == 0.5
    assert (found.low, found.high) == pytest.approx((0.5 - 1.96 * 0.05, 0.5 + 1.96 * 0.05), abs=0.015)
    perfect = bench_figures(ANSWERS, tasks[1::2])["pair"]
    assert tuple(perfect) == (1.0, 1.0, 1.0)


def test_items_of_one_task_are_drawn_together():
    """Forty equal items of each of two tasks tell no more than one of each."""
    correct = np.array([True, False])
    both = [(np.array([0.9, 0.1]), correct), (np.array([0.1, 0.9]), correct)]
    one = bench_figures(ANSWERS, both)["pair"]
    many = bench_figures(ANSWERS, both * 40, task=["a", "b"] * 40)["pair"]
    assert tuple(one) == tuple(many) == (0.5, 0.0, 1.0)
    assert bench_figures(ANSWERS, both * 40)["pair"].low > 0.3


@pytest.mark.parametrize("form", [STEPS, ANSWERS, PAIRS])
def test_figures_without_tasks_are_nan(form):
    found = bench_figures(form, [])
    assert form.main in found and all(math.isnan(number) for one in found.values() for number in one)


def test_sums_of_tasks_add_up():
    correct = np.arange(3) == 0
    rows = [answer_sums(np.array(one), correct) for one in ([0.9, 0.1, 0.2], [0.1, 0.9, 0.1])]
    assert float(answer_figures(added(rows))["pair"]) == pytest.approx((2 + 0.5) / 4)
