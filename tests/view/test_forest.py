import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.claim_figures import ClaimFigures, PairedFigures
from handaxe.evaluation.claims import Claim
from handaxe.evaluation.decide import Decision
from handaxe.evaluation.replication import DecidedClaim
from handaxe.view.forest import Effect, claim_effect, plot_forest


def decided(ours, theirs, low, high, direction="down", margin=0.5):
    difference = sum(a - b for a, b in zip(ours, theirs)) / len(ours)
    paired = PairedFigures(tuple(ours), tuple(theirs), difference, low, high)
    decision = Decision("undecided", "", paired, margin=margin)
    return DecidedClaim(Claim("x moves", "x", direction), ClaimFigures(paired), decision, "base")


def test_effect_is_the_difference_in_the_claimed_direction_in_margins():
    one = claim_effect("x", decided([-1, -2, -3], [0, 0, 0], -4.4841, 0.4841))
    assert (one.mean, one.low, one.high) == pytest.approx((4.0, -0.9682, 8.9682))
    up = claim_effect("x", decided([-2, -4, -6], [0, 0, 0], -8.9682, 0.9682, "up"))
    assert (up.mean, up.low, up.high) == pytest.approx((-8.0, -17.9364, 1.9364))


def test_effect_without_a_margin_or_a_finite_figure_is_none():
    assert claim_effect("x", decided([1, 2], [0, 0], 1, 1, margin=0.0)) is None
    assert claim_effect("x", decided([1, 2], [0, 0], float("nan"), 1)) is None


def test_plot_is_written_and_no_effect_is_an_error(tmp_path):
    pytest.importorskip("matplotlib")
    rows = [Effect("first claim", 1.0, 0.2, 9.0, "holds"), Effect("second claim", -0.1, -0.5, 0.3, "undecided")]
    plot_forest(rows, tmp_path / "a.svg", title="Paper")
    assert (tmp_path / "a.svg").read_text().count("<path") > 4
    with pytest.raises(InputError, match="needs an effect"):
        plot_forest([], tmp_path / "c.svg")
