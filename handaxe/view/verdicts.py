"""Tables of claims with verdicts, and of comparisons."""

from collections.abc import Mapping
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.table import Table

from handaxe.evaluation.claim_figures import PairedFigures
from handaxe.evaluation.claims import Claim
from handaxe.evaluation.paired_estimates import paired_estimates
from handaxe.evaluation.replication import Replication
from handaxe.view.escape_markup import escaped_text
from handaxe.view.fitted_table import FittedTable
from handaxe.view.terminal_tables import decimal, interval

__all__ = ["claim_condition", "claim_with_baseline", "side_table", "verdict_table"]

STYLES = {
    "holds": "green",
    "reversed": "red",
    "no effect": "blue",
    "undecided": "yellow",
    "not testable": "bright_black",
}


def claim_condition(claim: Claim) -> str:
    """Condition of a claim in words, such as "calls down where difficulty is easy and pass@1 stays within 0.05"."""
    change = f"{claim.measured} {claim.direction}"
    if claim.over == "first":
        change = f"{'more' if claim.direction == 'up' else 'fewer'} {claim.measured}"
    where = f" where {claim.where[0]} is {claim.where[1]}" if claim.where else ""
    stays = f" and {claim.keeps} stays within {claim.within:g}" if claim.keeps else ""
    return f"{change}{where}{stays}"


def claim_with_baseline(claim: Claim, base: str) -> str:
    """Condition and baseline of a claim, such as "calls down and pass@1 stays within 0.05, against grpo"."""
    return f"{claim_condition(claim)}, against {claim.baseline or base}"


def verdict_table(found: Replication) -> Table:
    """Make a table with a row per claim: means of both sides, paired difference with interval, verdict. Below the
    difference: interquartile mean and probability of improvement, with bootstrap intervals of 95 %.
    """
    size = f"{found.setting}, " if found.setting else ""
    title = f"{found.method}, {len(found.seeds)} pairs of runs, {size}intervals of the deciding look"
    table = FittedTable(title=title, box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    for name in ("claim", "against", found.method, "other", "difference", "verdict"):
        words = name in ("claim", "against", "verdict")
        table.add_column(name, justify="left" if words else "right", overflow="fold")
    for one in found.claims:
        verdict, why = one.decision.verdict, one.decision.why
        text = escaped_text(verdict, style=STYLES[verdict])
        if verdict != "holds" or one.figures.unread:
            text.append(f": {why}", style="bright_black")
        table.add_row(
            escaped_text(claim_condition(one.claim)),
            escaped_text(one.baseline),
            *_cells(one.decision.paired, one.claim.direction),
            text,
        )
        if one.decision.kept is not None:
            table.add_row(escaped_text(f"  {one.claim.keeps}"), "", *_cells(one.decision.kept), "")
    if found.silent:
        channels = ", ".join(found.silent)
        table.caption = escaped_text(f"channels without spread within groups, in every run: {channels}", style="yellow")
    return table


def side_table(found: Mapping[str, Mapping[str, PairedFigures]], first: str) -> Table:
    """Make a table with a row per metric and side: mean, paired difference from the first side, its interquartile mean,
    and the probability that a run of the side has a higher value than a run of the first side.
    """
    table = FittedTable(title=f"against {first}, 95 % intervals over pairs", box=SIMPLE_HEAD, title_justify="left")
    for name in ("metric", "side", "mean", "difference", "interquartile mean", "P(higher)"):
        table.add_column(name, justify="left" if name in ("metric", "side") else "right")
    for metric, sides in found.items():
        for name, one in sides.items():
            ours, _, difference = _cells(one)
            shown = ("", "", "") if name == first else (difference, *_robust_cells(one))
            table.add_row(escaped_text(metric), escaped_text(name), ours, *shown)
    return table


def _cells(one: PairedFigures, direction: Literal["up", "down"] | None = None) -> tuple[str, str, str]:
    """Means of both sides, and the difference; with a direction also the other estimates, in lines of their own."""
    ours, theirs = (decimal(sum(side) / len(side)) for side in (one.ours, one.theirs))
    difference = f"{decimal(one.difference, sign=True)} {interval(one.low, one.high)}"
    if direction is not None:
        middle, improvement = _robust_cells(one, direction)
        difference += f"\nIQM {middle}\nP(better) {improvement}"
    return ours, theirs, difference


def _robust_cells(one: PairedFigures, direction: Literal["up", "down"] = "up") -> tuple[str, str]:
    """Interquartile mean, and probability of improvement."""
    found = paired_estimates(one, direction=direction)
    if found is None:
        return "-", "-"
    middle = f"{decimal(found.interquartile, sign=True)} {interval(*found.interquartile_interval)}"
    return middle, f"{decimal(found.improvement)} {interval(*found.improvement_interval)}"
