"""The rule of verdicts: oracles by hand, and its error rates in a simulation."""

from math import inf, nan, sqrt

import numpy as np
import pytest
from helpers.claim_runs import claim
from scipy import stats

from handaxe.core.errors import InputError
from handaxe.evaluation.claim_figures import ClaimFigures, Control, pair_values
from handaxe.evaluation.decide import LOOKS, control_pairs, decide


def figures(differences, *, kept=None, control=None, **more):
    """Pairs with these differences from 0."""
    zeros = [0.0] * len(differences)
    return ClaimFigures(
        pair_values(differences, zeros), None if kept is None else pair_values(kept, zeros), control, **more
    )


def spread(mean, sd=1.0, pairs=8):
    """Values with this mean and standard deviation (n - 1)."""
    signs = np.array([1.0, -1.0] * (pairs // 2))
    return (mean + sd * sqrt((pairs - 1) / pairs) * signs).tolist()


def test_interval_at_the_first_look_matches_the_docstring_example():
    """t(0.995, 7) = 3.4995: half 3.4995 * 0.026 / sqrt(8) = 0.03217"""
    found = decide(claim("up", margin=0.03), figures(spread(0.05, 0.026)))
    assert found.verdict == "holds" and found.look == 8
    assert (found.paired.low, found.paired.high) == pytest.approx((0.05 - 0.03217, 0.05 + 0.03217), abs=1e-5)
    assert decide(claim("up", margin=0.03), figures(spread(0.0, 0.026))).verdict == "undecided"
    assert decide(claim("up", margin=0.0322), figures(spread(0.0, 0.026))).verdict == "no effect"


def test_errors_of_the_looks_add_up_to_five_percent():
    assert sum(look.error for look in LOOKS) == pytest.approx(0.05)
    assert [look.pairs for look in LOOKS] == [8, 16, 32]


def test_the_opposite_change_is_reversed():
    assert decide(claim(), figures(spread(2.0, 0.1))).verdict == "reversed"
    assert decide(claim("up"), figures(spread(2.0, 0.1))).verdict == "holds"
    assert decide(claim("up"), figures(spread(-2.0, 0.1))).verdict == "reversed"


def test_fewer_pairs_than_the_first_look_are_undecided():
    found = decide(claim(), figures(spread(-2.0, 0.1, pairs=4)))
    assert found.verdict == "undecided" and found.why == "4 pairs; the first look needs 8" and found.look == 0
    assert len(found.paired.ours) == 4 and found.p == 1


def test_the_first_deciding_look_decides():
    """Undecided at 8 pairs; the 8 further ones repeat the same spread, so that the interval shrinks below 0."""
    first = spread(-0.7, 1.0)
    assert decide(claim(), figures(first)).verdict == "undecided"
    found = decide(claim(), figures(first + first))
    half = stats.t.ppf(1 - 0.015 / 2, 15) * np.std(first + first, ddof=1) / 4
    assert found.look == 16 and found.paired.high == pytest.approx(-0.7 + half)
    assert found.verdict == ("holds" if half < 0.7 else "undecided")
    decided = spread(-2.0, 0.1)
    assert decide(claim(), figures(decided + spread(5.0, 0.1))).look == 8, "later pairs cannot change a verdict"
    assert decide(claim(), figures(decided + [0.0] * 4)).look == 8, "12 pairs have one look"


@pytest.mark.parametrize(
    ("fell", "verdict"),
    [
        (spread(0.0, 0.01), "holds"),
        (spread(-0.2, 0.01), "reversed"),
        (spread(0.0, 0.2), "undecided"),
        (spread(0.3, 0.01), "holds"),
    ],
)
def test_a_fallen_keeps_figure_decides(fell, verdict):
    found = decide(claim(keeps="training/y", within=0.05), figures(spread(-2.0, 0.1), kept=fell))
    assert found.verdict == verdict and found.kept.difference == pytest.approx(np.mean(fell))
    assert (found.pairs > 8) == (verdict == "undecided")


def test_pairs_is_the_least_deciding_number():
    found = decide(claim(), figures(spread(-0.7, 1.0)))

    def half(count):
        return stats.t.ppf(1 - 0.025 / 2, count - 1) * 1.0 / sqrt(count)

    assert half(found.pairs) < 0.7 <= half(found.pairs - 1) and f"about {found.pairs} pairs" in found.why
    assert decide(claim(), figures(spread(0.0, 9.0))).pairs == 0, "a mean of 0 is never decided"


def test_obstacles_and_missing_figures_come_first():
    good = spread(-2.0, 0.1)
    assert decide(claim(), figures(good, obstacle="no fault"))[:2] == ("not testable", "no fault")
    assert decide(claim(), figures(good, unreached="never"))[:2] == ("undecided", "never")
    assert decide(claim(), figures([nan, *good[1:]])).verdict == "undecided"
    assert decide(claim(), figures([inf, *good[1:]])).verdict == "undecided"


def test_single_pairs_and_unequal_sides_are_errors():
    with pytest.raises(InputError, match="two pairs or more"):
        decide(claim(), figures([1.0]))
    with pytest.raises(InputError, match="has no default margin"):
        decide(claim(margin=None), figures(spread(1.0)))


def test_a_single_control_that_reaches_the_interval_is_not_testable():
    """The interval is -2 -+ 3.4995 * 0.1 / sqrt(8) = 0.12373; its near end is -1.87627."""
    good = spread(-2.0, 0.1)
    assert decide(claim(), figures(good, control=Control((-1.87,)))).verdict == "holds"
    assert decide(claim(), figures(good, control=Control((-1.88,)))).verdict == "not testable"
    assert decide(claim(), figures(good, control=Control((nan,)))).verdict == "holds"


def test_control_pairs_are_tested_by_an_interval():
    good = spread(-2.0, 0.1)
    assert decide(claim(), figures(good, control=Control((0.1, -0.1, 0.0, 0.0)))).verdict == "holds"
    assert decide(claim(), figures(good, control=Control((-2.1, -1.9, -2.0, -2.0)))).verdict == "not testable"
    assert decide(claim(), figures(good, control=Control((-5.0, 3.0, -4.0, 2.0)))).verdict == "undecided"
    more = Control((0.1, -0.1, 0.0, 0.0, *[-2.0] * 4))
    assert decide(claim(), figures(good, control=more)).verdict == "holds", "the first look has four control pairs"


def test_a_control_that_loses_keeps_does_not_count():
    """Under permuted rewards, calls and accuracy both fall."""
    one = claim(keeps="training/y", within=0.05)
    same = spread(0.0, 0.001)
    assert decide(one, figures(spread(-2.0, 0.1), kept=same, control=Control((-9.0,), (-0.5,)))).verdict == "holds"
    lost = figures(spread(-2.0, 0.1), kept=same, control=Control((-9.0,), (-0.04,)))
    assert decide(one, lost).verdict == "not testable"


def test_a_claim_without_a_control_holds_and_says_so():
    found = decide(claim(), figures(spread(-2.0, 0.1), unread="no control"))
    assert found.verdict == "holds" and found.why.endswith("; no control")


def test_control_pairs_are_half_and_at_least_four():
    assert [control_pairs(n) for n in (2, 4, 8, 16, 32)] == [2, 4, 4, 8, 16]


def test_p_counts_the_looks():
    """t = 2 / (1 / sqrt(8)) = 5.657 with 7 degrees of freedom."""
    found = decide(claim(), figures(spread(-2.0, 1.0)))
    assert found.p == pytest.approx(2 * stats.t.sf(2 * sqrt(8), 7))
    second = spread(-0.7, 1.0) * 2
    assert decide(claim(), figures(second)).p == pytest.approx(2 * stats.ttest_1samp(second, 0).pvalue)
    assert decide(claim(), figures([-1.0] * 8)).p == 0 and decide(claim(), figures([0.0] * 8)).p == 1


def simulated(draw, effect, *, runs=2000, margin=0.03):
    """Share of each verdict among claims whose differences are drawn with this mean."""
    one = claim("up", margin=margin)
    counts = dict.fromkeys(("holds", "reversed", "no effect", "undecided"), 0)
    pairs = 0
    for differences in effect + draw((runs, 32)):
        found = decide(one, ClaimFigures(pair_values(differences, [0.0] * 32)))
        counts[found.verdict] += 1
        pairs += found.look
    return {name: count / runs for name, count in counts.items()}, pairs / runs


def draws(seed=0):
    """Differences with standard deviation 0.026: normal, heavy-tailed (t with 3 degrees), and of 200 tasks."""
    rng = np.random.default_rng(seed)
    p = 0.5
    share = sqrt(2 * p * (1 - p) / 200)  # a difference of two shares of 200 independent tasks
    return {
        "normal": lambda shape: rng.normal(0, 0.026, shape),
        "heavy": lambda shape: rng.standard_t(3, shape) * 0.026 / sqrt(3),
        "discrete": lambda shape: (rng.binomial(200, p, shape) - rng.binomial(200, p, shape)) / 200 * 0.026 / share,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["normal", pytest.param("heavy", marks=pytest.mark.slow), pytest.param("discrete", marks=pytest.mark.slow)]
)
def test_without_an_effect_wrong_verdicts_are_at_most_five_percent(kind):
    """2,000 claims: 0.05 plus three standard errors is 0.0646; the rule itself stays below 0.05 by the union bound."""
    share, _ = simulated(draws()[kind], 0.0)
    assert share["holds"] + share["reversed"] <= 0.05
    assert share["no effect"] >= 0.90


def test_an_effect_of_two_margins_is_found():
    """0.06 against a margin of 0.03, at the median spread."""
    share, pairs = simulated(draws()["normal"], 0.06, runs=500)
    assert share["holds"] >= 0.99 and pairs < 9
