from math import sqrt

import numpy as np
import pytest
from scipy import stats

from handaxe.core.errors import InputError
from handaxe.evaluation.claims import Claim, Control, decide, figure, measure_control
from handaxe.evaluation.figures import RunFigures


def run(values, *, other=None, tokens=10.0):
    """A run with these values of the training figure "x", and the others of "y"."""
    rows = [{"x": float(v), "tokens/sampled": tokens} for v in values]
    for row, value in zip(rows, [0.0] * len(rows) if other is None else other):
        row["y"] = float(value)
    return RunFigures(rows, {})


def ends(*values, other=None, tokens=10.0):
    kept = [0.0] * len(values) if other is None else other
    return [run([0.0, v], other=[0.0, y], tokens=tokens) for v, y in zip(values, kept)]


def claim(direction="down", **more):
    return Claim(text="x goes down", metric="training/x", direction=direction, **more)


def test_decide_matches_the_docstring_example():
    """-1, -2, -3: the mean -2, sd 1, t(0.975, 2) = 4.3027, half 4.3027 / sqrt(3) = 2.4841"""
    found = decide(claim(), ends(-1, -2, -3), ends(0, 0, 0))
    assert found.verdict == "undecided" and found.paired.difference == -2
    assert (found.paired.low, found.paired.high) == pytest.approx((-4.4841, 0.4841), abs=1e-4)
    held = decide(claim(), ends(-2, -2.1, -1.9), ends(0, 0, 0))
    assert held.verdict == "holds" and held.paired.high == pytest.approx(-2 + 4.3027 * 0.1 / sqrt(3), abs=1e-4)


def test_seeds_is_the_least_deciding_number():
    found = decide(claim(), ends(-1, -2, -3), ends(0, 0, 0))

    def half(count):
        return stats.t.ppf(0.975, count - 1) * 1.0 / sqrt(count)

    assert found.seeds == 4 and half(4) < 2 <= half(3)
    assert "4 pairs would decide" in found.why
    assert decide(claim(), ends(-1, 1), ends(0, 0)).seeds == 0, "a mean of 0 is never decided"


def test_paired_differences_cancel_the_spread_between_seeds():
    """Each pair differs by about the same."""
    theirs = [0.0, 10.0, 20.0]
    assert decide(claim(), ends(-2, 7.9, 18.1), ends(*theirs)).verdict == "holds"


def test_the_opposite_change_does_not_hold():
    assert decide(claim(), ends(2, 2.1, 1.9), ends(0, 0, 0)).verdict == "does not hold"
    assert decide(claim("up"), ends(2, 2.1, 1.9), ends(0, 0, 0)).verdict == "holds"
    assert decide(claim("up"), ends(-2, -2.1, -1.9), ends(0, 0, 0)).verdict == "does not hold"


@pytest.mark.parametrize(
    ("fell", "verdict"),
    [
        ((-0.01, 0.0, 0.01), "holds"),
        ((-0.2, -0.21, -0.19), "does not hold"),
        ((-0.2, 0.0, 0.2), "undecided"),
        ((0.3, 0.31, 0.29), "holds"),
    ],
)
def test_a_fallen_keeps_figure_decides(fell, verdict):
    found = decide(claim(keeps="training/y", within=0.05), ends(-2, -2.1, -1.9, other=fell), ends(0, 0, 0))
    assert found.verdict == verdict and found.kept.difference == pytest.approx(np.mean(fell))
    assert (found.seeds > 3) == (verdict == "undecided" and np.mean(fell) > -0.05)


def test_baseline_outside_its_bounds_is_not_testable():
    no = decide(claim(baseline_must_exceed=1.0), ends(-2, -2.1, -1.9), ends(0.5, 0.6, 0.4))
    assert no.verdict == "not testable here" and "is 0.5" in no.why and "at least 1" in no.why
    assert decide(claim(baseline_must_exceed=0.4), ends(-2, -2.1, -1.9), ends(0.5, 0.6, 0.4)).verdict == "holds"
    assert (
        decide(claim("up", baseline_must_not_exceed=0.4), ends(2, 2.1, 1.9), ends(0.5, 0.6, 0.4)).verdict
        == "not testable here"
    )


def test_unequal_budgets_are_not_testable():
    ours, theirs = ends(-2, -2.1, -1.9, tokens=10.3), ends(0, 0, 0, tokens=10)
    assert decide(claim(), ours, theirs).verdict == "holds"
    assert decide(claim(budget=("tokens",)), ours, theirs).verdict == "not testable here"
    assert decide(claim(budget=("tokens",)), ends(-2, -2.1, -1.9, tokens=10.1), theirs).verdict == "holds"


def test_claims_against_start_and_zero():
    runs = [run([5, 3]), run([6, 4.1]), run([7, 4.9])]
    assert decide(claim(baseline="start"), runs, ()).paired.theirs == (5, 6, 7)
    assert decide(claim(baseline="start"), runs, ()).verdict == "holds"
    assert decide(claim(baseline="zero"), runs, ()).verdict == "does not hold"


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


def test_a_level_that_most_runs_never_reach_is_undecided():
    """2 of 3 unreached are more than half; 1 of 3 counts as twice the end."""
    soon = run([0, 0, 1, 1])
    late = run([0, 0, 0, 1])
    never = run([0, 0, 0, 0])
    told = claim(over="first", level=1.0)
    found = decide(told, [never, never, late], [never, never, soon])
    assert found.verdict == "undecided" and found.seeds == 0
    assert found.why == "2 of 3 runs never reach 1, nor do 2 of 3 of the baseline"
    assert decide(told, [never] * 3, [never] * 3).verdict == "undecided", (
        "though its end counts as 8 here and as 4 there"
    )
    assert decide(told, [late, late, never], [soon] * 3).paired.ours == (4.0, 4.0, 8.0)
    assert decide(told, [never] * 3, [soon] * 3).verdict == "does not hold", "the baseline got there"
    assert decide(told, [soon] * 3, [never] * 3).verdict == "holds"


def test_a_figure_that_is_not_finite_is_undecided():
    assert decide(claim(), ends(float("nan"), -2, -2), ends(0, 0, 0)).verdict == "undecided"


def test_a_gain_against_the_start_is_an_error():
    with pytest.raises(InputError, match="from the start already"):
        claim("up", over="gain", baseline="start")


def test_a_single_pair_is_an_error():
    with pytest.raises(InputError, match="two pairs or more"):
        decide(claim(), ends(1), ends(0))
    with pytest.raises(InputError, match="3 runs and 2"):
        decide(claim(), ends(1, 2, 3), ends(0, 0))


def test_claims_on_evaluations_need_a_control():
    assert not claim().needs_control and Claim("", "calls", "down").needs_control
    assert claim(control=True).needs_control and not Claim("", "calls", "down", control=False).needs_control


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"direction": "sideways"}, "up or down"),
        ({"keeps": "training/x"}, "give another one"),
        ({"over": "first"}, "level="),
        ({"level": 0.5}, "level="),
        ({"within": 0}, "a margin above 0"),
    ],
)
def test_inconsistent_arguments_are_errors(arguments, said):
    with pytest.raises(InputError, match=said):
        claim(**arguments)


def test_a_control_with_the_same_change_is_not_testable():
    """The interval is -2 -+ 0.2484; its near end is -1.7516."""
    ours, theirs = ends(-2, -2.1, -1.9), ends(0, 0, 0)
    assert decide(claim(), ours, theirs, control=Control(-1.7)).verdict == "holds"
    no = decide(claim(), ours, theirs, control=Control(-1.8))
    assert no.verdict == "not testable here" and "-1.8 too" in no.why
    assert measure_control(claim(), ends(-3)[0], ends(1)[0]) == Control(-4)
    assert measure_control(claim(baseline="start"), run([5, 3]), None) == Control(-2)


def test_a_control_that_loses_keeps_does_not_count():
    """Under permuted rewards, calls and accuracy both fall to 0."""
    wanted = claim(keeps="training/y", within=0.05)
    ours, theirs = ends(-2, -2.1, -1.9), ends(0, 0, 0)
    lost = measure_control(wanted, ends(-9, other=[-0.5])[0], ends(0)[0])
    assert lost == Control(-9, -0.5) and decide(wanted, ours, theirs, control=lost).verdict == "holds"
    assert decide(wanted, ours, theirs, control=Control(-9, -0.04)).verdict == "not testable here"


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
        (
            3.0,
            1e-31,
            "all turns of a rollout one advantage",
        ),  # what adding up in float64 leaves of one advantage an attempt
    ],
)
def test_a_claim_about_turns_needs_turns_with_different_advantages(turns, within, why):
    ours = [turned([0.0, value], turns=9.0, within=within) for value in (-2, -2.1, -1.9)]
    theirs = [turned([0.0, 0.0], turns=turns, within=0.0) for _ in range(3)]
    found = decide(claim(by_turn=True), ours, theirs)
    assert found.verdict == ("not testable here" if why else "holds") and why in found.why
    assert decide(claim(), ours, theirs).verdict == "holds"


def test_measured_names_the_figure_in_words():
    assert claim().measured == "training/x" and claim(over="area").measured == "training/x (mean of the run)"
    assert claim(over="first", level=0.5, axis="tokens").measured == "tokens until training/x is 0.5"
