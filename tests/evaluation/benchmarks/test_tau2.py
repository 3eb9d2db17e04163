"""The table of tau2: pass^k by hand and by a slow loop, unscored trials, and real tasks with the expert's calls."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.metrics import TaskResult
from handaxe.evaluation.benchmarks.benchmark import PartResult
from handaxe.evaluation.benchmarks.tau2 import tau2, tau2_table
from handaxe.ops.stats import pass_hat_k


def result(id, correct, scored=4, attempts=4, calls=2.0):
    share = correct / scored if scored else 0.0
    return TaskResult(id, attempts, scored, correct, share, calls, 0.0, 0.0, 0.0, {})


def part(*tasks, context=0):
    return PartResult(tuple(tasks), len(tasks), context)


def rows(table):
    return {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}


def test_pass_hat_k_by_hand():
    """4 and 2 of 4: pass^2 (6/6 + 1/6) / 2, pass^3 (1 + 0) / 2; the mean of domains has equal weights."""
    results = {"retail": part(result("a", 4, calls=3.0), result("b", 2, calls=1.0)), "airline": part(result("c", 1))}
    table = tau2_table(results)
    assert table.columns == (
        *("domain", "scored", "tasks", "pass^1", "pass^2", "pass^3", "pass^4"),
        *("reward", "calls"),
    )
    found = rows(table)
    retail = found["retail"]
    assert [retail[f"pass^{k}"] for k in (1, 2, 3, 4)] == pytest.approx([0.75, 7 / 12, 0.5, 0.5], abs=1e-12)
    assert (retail["reward"], retail["calls"], retail["tasks"]) == (0.75, 2.0, 2)
    assert [found["airline"][f"pass^{k}"] for k in (1, 2, 3, 4)] == [0.25, 0, 0, 0]
    mean = found["mean"]
    assert [mean[f"pass^{k}"] for k in (1, 2)] == pytest.approx([0.5, 7 / 24], abs=1e-12) and mean["tasks"] == 3


@given(st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_hat_k_equals_a_loop_over_subsets(drawn):
    n, c, k = drawn
    trials = [place < c for place in range(n)]
    subsets = list(itertools.combinations(trials, k))
    slow = sum(all(subset) for subset in subsets) / len(subsets)
    assert pass_hat_k(n, c, k) == pytest.approx(slow, abs=1e-12)
    table = tau2_table({"retail": part(result("a", c, scored=n, attempts=n))})
    assert rows(table)["retail"][f"pass^{k}"] == pytest.approx(slow, abs=1e-12)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6))
def test_pass_hat_k_falls_with_k_and_stays_within_0_and_1(corrects):
    table = tau2_table({"retail": part(*(result(str(n), c) for n, c in enumerate(corrects)))})
    values = [rows(table)["retail"][f"pass^{k}"] for k in (1, 2, 3, 4)]
    assert values == sorted(values, reverse=True) and values[-1] >= 0 and values[0] <= 1


def test_unscored_trials_are_no_failures():
    """A task with 2 of 2 scored trials has pass^2 1 and counts for no k above 2."""
    results = {"retail": part(result("a", 2, scored=2)), "airline": part(result("b", 0, scored=0), context=4)}
    table = tau2_table(results)
    found = rows(table)
    assert [found["retail"][f"pass^{k}"] for k in (1, 2, 3)] == [1.0, 1.0, None]
    airline = found["airline"]
    assert (airline["pass^1"], airline["reward"], airline["scored"], airline["tasks"]) == (None, None, 0, 1)
    assert found["mean"]["pass^1"] is None
    assert any(note.startswith("4 of 8 rollouts have no score: the task does not fit") for note in table.notes)
    assert any(note.startswith("2 of 8 rollouts failed through no fault") for note in table.notes)


def test_settings_are_fixed():
    made = tau2()
    assert [one.name for one in made.parts] == ["retail", "airline", "telecom"]
    assert (made.trials, made.temperature, made.max_turns, made.max_tokens) == (4, 1.0, 32, 512)
