from math import sqrt
from xml.etree import ElementTree

import pytest
from helpers.claim_runs import claim, ends, run

from handaxe.core.metrics import TaskResult
from handaxe.evaluation.claim_figures import Control, figure, measure_claim, pair_values
from handaxe.evaluation.claims import Claim
from handaxe.evaluation.estimates import estimates
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.evaluation.figures import RunFigures


def test_pairs_have_the_interval_of_the_docstring_example():
    """-1, -2, -3: the mean -2, sd 1, t(0.975, 2) = 4.3027, half 4.3027 / sqrt(3) = 2.4841"""
    found = measure_claim(claim(), ends(-1, -2, -3), ends(0, 0, 0)).paired
    assert found.difference == -2 and (found.low, found.high) == pytest.approx((-4.4841, 0.4841), abs=1e-4)


def test_first_pairs_have_an_interval_of_their_own_level():
    """t(0.995, 1) = 63.6567, sd of -1, -2 is 0.70711, half 63.6567 * 0.70711 / sqrt(2) = 31.8284"""
    found = pair_values([-1, -2, -30], [0, 0, 0]).first(2, level=0.99)
    assert found.ours == (-1, -2) and found.high == pytest.approx(-1.5 + 31.8284, abs=1e-3)


def test_a_baseline_outside_its_bounds_is_an_obstacle():
    no = measure_claim(claim(baseline_must_exceed=1.0), ends(-2, -2.1, -1.9), ends(0.5, 0.6, 0.4)).obstacle
    assert "is 0.5" in no and "at least 1" in no
    assert not measure_claim(claim(baseline_must_exceed=0.4), ends(-2, -2.1, -1.9), ends(0.5, 0.6, 0.4)).obstacle
    assert measure_claim(claim("up", baseline_must_not_exceed=0.4), ends(2, 2, 2), ends(0.5, 0.6, 0.4)).obstacle


def test_unequal_budgets_are_an_obstacle():
    ours, theirs = ends(-2, -2.1, -1.9, tokens=10.3), ends(0, 0, 0, tokens=10)
    assert not measure_claim(claim(), ours, theirs).obstacle
    assert "2 % at most" in measure_claim(claim(budget=("tokens",)), ours, theirs).obstacle
    assert not measure_claim(claim(budget=("tokens",)), ends(-2, -2, -2, tokens=10.1), theirs).obstacle


def test_claims_against_start_and_zero():
    runs = [run([5, 3]), run([6, 4.1]), run([7, 4.9])]
    assert measure_claim(claim(baseline="start"), runs, ()).paired.theirs == (5, 6, 7)
    assert measure_claim(claim(baseline="zero"), runs, ()).paired.theirs == (0, 0, 0)


@pytest.mark.parametrize(
    ("over", "level", "direction", "want"),
    [
        ("end", None, "up", 2.0),
        ("best", None, "up", 4.0),
        ("best", None, "down", 0.0),
        ("worst", None, "up", 0.0),
        ("worst", None, "down", 4.0),
        ("area", None, "up", (2 + 2 + 3) / 3),
        ("spread", None, "up", sqrt((4 + 4 + 0 + 0) / 4)),
        ("gain", None, "up", 2.0 - 0.0),
        ("first", 3.0, "down", 3.0),
        ("first", 9.0, "down", 8.0),
    ],
)
def test_figure_reduces_a_run_by_over(over, level, direction, want):
    """0, 4, 2, 2 after steps 1 to 4; an unreached level counts twice for the method, once for the baseline."""
    made = figure(claim(direction, over=over, level=level), run([0, 4, 2, 2] if level != 3.0 else [0, 2, 3, 4]))
    assert made == pytest.approx(want)
    if level == 9.0:
        assert figure(claim(direction, over=over, level=level), run([0, 4, 2, 2]), favour=False) == 4.0


def test_a_level_that_most_runs_never_reach_is_reported():
    """2 of 3 unreached are more than half; 1 of 3 counts as twice the end."""
    soon = run([0, 0, 1, 1])
    late = run([0, 0, 0, 1])
    never = run([0, 0, 0, 0])
    one = claim(over="first", level=1.0)
    found = measure_claim(one, [never, never, late], [never, never, soon])
    assert found.unreached == "2 of 3 runs never reach 1, nor do 2 of 3 of the baseline"
    assert measure_claim(one, [never] * 3, [never] * 3).unreached, "though its end counts as 8 here and as 4 there"
    some = measure_claim(one, [late, late, never], [soon] * 3)
    assert some.paired.ours == (4.0, 4.0, 8.0) and not some.unreached
    assert not measure_claim(one, [never] * 3, [soon] * 3).unreached, "the baseline got there"


def test_control_is_the_difference_from_the_baseline_of_the_same_seed():
    ours, theirs = ends(-2, -2, -2), ends(1, 2, 3)
    assert measure_claim(claim(), ours, theirs, control=ends(-3, 0)).control == Control((-4.0, -2.0))
    assert measure_claim(claim(baseline="start"), ours, (), control=[run([5, 3])]).control == Control((-2.0,))
    kept = measure_claim(claim(keeps="training/y"), ours, theirs, control=ends(-9, other=[-0.5])).control
    assert kept == Control((-10.0,), (-0.5,))
    assert measure_claim(claim(), ours, theirs).control is None


def turned(values, *, turns, within):
    """A run with a number of turns per rollout, and a share of squared deviations within rollouts."""
    rows = [{"x": float(v), "turns": turns, "advantage/within": within} for v in values]
    return RunFigures(rows, {})


@pytest.mark.parametrize(
    ("turns", "within", "why"),
    [
        (3.0, 0.1, ""),
        (2.9, 0.1, "have 2.9 turns; a claim about turns needs 3"),
        (3.0, 0.0, "all turns of a rollout one advantage"),
        (3.0, 1e-31, "all turns of a rollout one advantage"),  # the rounding of a sum in float64
    ],
)
def test_a_claim_about_turns_needs_turns_with_different_advantages(turns, within, why):
    ours = [turned([0.0, value], turns=9.0, within=within) for value in (-2, -2.1, -1.9)]
    theirs = [turned([0.0, 0.0], turns=turns, within=0.0) for _ in range(3)]
    found = measure_claim(claim(by_turn=True), ours, theirs).obstacle
    assert why in found and bool(found) == bool(why)
    assert not measure_claim(claim(), ours, theirs).obstacle


def evaluated(*correct, kind="a"):
    """A run with a final evaluation: one task per number, correct in 0 or 1 of 1 rollouts."""
    tasks = tuple(
        TaskResult(f"t{i}", 1, 1, c, float(c), 0.0, 0.0, 0.0, 0.0, {}, {"kind": kind if i < 7 else "b"})
        for i, c in enumerate(correct)
    )
    return RunFigures([{}] * 3, {3: Evaluation(tasks, estimates(tasks, ks=(1,)), {}, {}, {}, {"ks": (1,)})})


def test_tasks_with_one_outcome_on_both_sides_are_an_obstacle():
    """Of 8 tasks 7 are always solved: 0.875 is more than 0.85; 6 of 8 are not."""
    one = Claim("", "pass@1", "up")
    full, ours = [evaluated(1, 1, 1, 1, 1, 1, 1, 0)] * 2, [evaluated(1, 1, 1, 1, 1, 1, 1, 1)] * 2
    assert measure_claim(one, ours, full).obstacle == (
        "7 of 8 held-out tasks are always solved or never solved by both sides"
    )
    assert not measure_claim(one, ours, [evaluated(0, 1, 1, 1, 1, 1, 1, 0)] * 2).obstacle
    assert measure_claim(one, [evaluated(*[0] * 8)] * 2, [evaluated(*[0] * 8)] * 2).obstacle, "the floor"
    assert not measure_claim(Claim("", "pass@1", "up", where=("kind", "b")), ours, full).obstacle
    assert not measure_claim(Claim("", "calls", "up"), ours, full).obstacle


def test_a_notebook_shows_every_pair_and_the_means():
    page = pair_values([1, 2, 3], [0, 0, 0])._repr_html_()
    rows = [[cell.text for cell in row] for row in ElementTree.fromstring(page).find("tbody")]
    assert rows[1] == ["2", "2", "0", "+2"] and rows[-1] == ["mean", "2", "0", "+2 [-0.4841, +4.484]"]


def test_permuted_rewards_that_change_no_task_are_no_control():
    """Equal figures alone are no sign: the runs of the last line solve other tasks."""
    one = Claim("", "pass@1", "up")
    ours = [evaluated(1, 1, 0, 1), evaluated(1, 0, 1, 1)]
    theirs = [evaluated(0, 1, 0, 0), evaluated(0, 0, 1, 0)]
    found = measure_claim(one, ours, theirs, control=ours[:1])
    assert found.control is None and "no control" in found.unread
    assert measure_claim(one, ours, theirs, control=[ours[0], evaluated(1, 1, 1, 0)]).control == Control((0.5, 0.5))
    assert measure_claim(one, ours, theirs, control=[evaluated(1, 1, 1, 0)]).unread == ""
    assert measure_claim(one, ours, theirs).unread == ""
