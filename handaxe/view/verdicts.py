"""Tables of claims and their verdicts, and of sides that were run with the same seeds."""

from collections.abc import Mapping

from rich.box import SIMPLE_HEAD
from rich.table import Table

from handaxe.evaluation.claims import Claim, Paired
from handaxe.evaluation.replication import Replication
from handaxe.view.escape import plain
from handaxe.view.tables import decimal, interval

__all__ = ["claimed", "decided_by", "side_table", "verdict_table"]

STYLES = {"holds": "green", "does not hold": "red", "undecided": "yellow", "not testable here": "bright_black"}


def claimed(claim: Claim) -> str:
    """What a claim says of its figure: "calls down where difficulty is easy and pass@1 stays within 0.05"."""
    said = f"{claim.measured} {claim.direction}"
    if claim.over == "first":
        said = f"{'more' if claim.direction == 'up' else 'fewer'} {claim.measured}"
    where = f" where {claim.where[0]} is {claim.where[1]}" if claim.where else ""
    stays = f" and {claim.keeps} stays within {claim.within:g}" if claim.keeps else ""
    return f"{said}{where}{stays}"


def decided_by(claim: Claim, base: str) -> str:
    """What decides a claim, such as "calls down and pass@1 stays within 0.05, against plain"."""
    return f"{claimed(claim)}, against {claim.baseline or base}"


def verdict_table(found: Replication) -> Table:
    """One row a claim: both sides' means, the paired difference with its 95 % interval, and the verdict."""
    title = f"{found.method}, {len(found.seeds)} pairs of runs, 95 % intervals over pairs"
    table = Table(title=title, box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    for name in ("claim", "against", found.method, "other", "difference", "verdict"):
        words = name in ("claim", "against", "verdict")
        table.add_column(name, justify="left" if words else "right", overflow="fold")
    for one in found.claims:
        verdict, why = one.decision.verdict, one.decision.why
        said = plain(verdict, style=STYLES[verdict])
        if verdict != "holds":
            said.append(f": {why}", style="bright_black")
        table.add_row(plain(claimed(one.claim)), plain(one.baseline), *_cells(one.decision.paired), said)
        if one.decision.kept is not None:
            table.add_row(plain(f"  {one.claim.keeps}"), "", *_cells(one.decision.kept), "")
    if found.silent:
        table.caption = plain(f"told no two siblings apart, in no run: {', '.join(found.silent)}", style="yellow")
    return table


def side_table(found: Mapping[str, Mapping[str, Paired]], first: str) -> Table:
    """One row a metric and side: its mean, and its difference from the first side pair by pair."""
    table = Table(title=f"against {first}, 95 % intervals over pairs", box=SIMPLE_HEAD, title_justify="left")
    for name in ("metric", "side", "mean", "difference"):
        table.add_column(name, justify="right" if name in ("mean", "difference") else "left")
    for metric, sides in found.items():
        for name, one in sides.items():
            ours, _, difference = _cells(one)
            table.add_row(plain(metric), plain(name), ours, "" if name == first else difference)
    return table


def _cells(one: Paired) -> tuple[str, str, str]:
    ours, theirs = (decimal(sum(side) / len(side)) for side in (one.ours, one.theirs))
    return ours, theirs, f"{decimal(one.difference, sign=True)} {interval(one.low, one.high)}"
