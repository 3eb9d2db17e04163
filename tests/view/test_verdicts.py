import dataclasses
from io import StringIO

import pytest
from rich.console import Console

from handaxe.evaluation.claim_figures import measure_claim, pair_figures, pair_values
from handaxe.evaluation.claims import Claim
from handaxe.evaluation.figures import RunFigures
from handaxe.evaluation.replication import DecidedClaim, Replication, mean_curve
from handaxe.view.plots import plot_curves
from handaxe.view.verdicts import claim_condition, claim_with_baseline, side_table, verdict_table

OURS = [RunFigures([{"x": value, "y": 1.0}], {}) for value in (1.0, 1.1, 0.9, 1.0) * 2]
THEIRS = [RunFigures([{"x": value, "y": 1.0}], {}) for value in (2.0, 2.1, 2.1, 2.0) * 2]
CLAIM = Claim("x falls", "training/x", "down", keeps="training/y", margin=0.1)
BOLD = Claim("[red]no markup[/red]", "training/[red]x", "up", margin=0.1)


def shown(table, width=160):
    out = StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue()


def replication():
    decided = DecidedClaim.of(CLAIM, measure_claim(CLAIM, OURS, THEIRS), "plain")
    curves = {"training/x": {"mine": mean_curve(OURS, "training/x"), "plain": mean_curve(THEIRS, "training/x")}}
    return Replication("mine", "handaxe replicate mine", "0", tuple(range(8)), (decided,), {}, {}, curves, {})


def test_verdict_table_has_condition_means_and_verdict():
    text = shown(verdict_table(replication()))
    for part in (
        "mine, 8 pairs of runs",
        "training/x down and training/y stays within 0.05",
        "1.000",
        "2.050",
        "-1.050",
        "IQM -1.000 [-1.150, -1.000]",
        "P(better) 1.000 [1.000, 1.000]",
        "holds",
    ):
        assert part in text
    assert "without spread" not in text
    silent = shown(verdict_table(dataclasses.replace(replication(), silent=("format", "used"))))
    assert "channels without spread within groups, in every run: format, used" in silent


def test_a_claim_that_holds_without_a_control_says_so():
    figures = measure_claim(CLAIM, OURS, THEIRS)._replace(unread="there is no control")
    decided = DecidedClaim.of(CLAIM, figures, "plain")
    text = " ".join(shown(verdict_table(dataclasses.replace(replication(), claims=(decided,))), width=300).split())
    assert "holds: training/x goes down; there is no control" in text
    assert "control" not in shown(verdict_table(replication()))


@pytest.mark.parametrize(
    ("claim", "condition"),
    [
        (Claim("", "calls", "down", where=("difficulty", "easy")), "calls down where difficulty is easy"),
        (Claim("", "calls", "down", keeps="pass@1"), "calls down and pass@1 stays within 0.05"),
        (Claim("", "pass@1", "down", over="first", level=0.5, axis="tokens"), "fewer tokens until pass@1 is 0.5"),
        (Claim("", "calls", "up", over="first", level=2.0), "more steps until calls is 2"),
        (Claim("", "pass@1", "up", over="area"), "pass@1 (mean of the run) up"),
        (Claim("", "training/x", "down", over="worst"), "training/x (worst of the run) down"),
    ],
)
def test_claim_condition_and_baseline_are_described(claim, condition):
    assert claim_condition(claim) == condition
    assert claim_with_baseline(claim, "rloo") == f"{condition}, against rloo"
    assert claim_with_baseline(dataclasses.replace(claim, baseline="grpo"), "rloo") == f"{condition}, against grpo"


def test_side_table_has_differences_from_the_first_side():
    found = {"training/x": {"a": pair_figures(CLAIM, OURS, OURS), "b": pair_figures(CLAIM, THEIRS, OURS)}}
    text = shown(side_table(found, "a"))
    assert "against a" in text and "P(higher)" in text
    (row,) = [line for line in text.splitlines() if "+1.050" in line]
    assert "+1.000 [1.000, 1.150]   1.000 [1.000, 1.000]" in row, "interquartile mean and probability"
    assert text.count("[") == 3, "none for the first side"


def test_a_side_without_figure_has_no_interquartile_mean():
    missing = pair_values([float("nan")] * 3, [0.0] * 3)
    assert shown(side_table({"x": {"a": missing, "b": missing}}, "a")).count(" - ") >= 3


def test_plot_is_deterministic(tmp_path):
    plot_curves(replication(), tmp_path / "one.png")
    plot_curves(replication(), tmp_path / "two.png")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert (tmp_path / "one.png").read_bytes()[:4] == b"\x89PNG"
