"""Tables of the lab for the terminal: attacks on rewards, how channels are spread, how far rewards agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from handaxe.evaluation.agreement import COVARIATES, Agreement, Channel
from handaxe.evaluation.lab import Attacked, AttackTrial
from handaxe.evaluation.rescoring import Determinism
from handaxe.view.escape import plain
from handaxe.view.tables import decimal

__all__ = ["agreement_table", "attack_table", "determinism_table", "spread_table", "two_digits"]

QUANTILES = ("least", "25 %", "median", "75 %", "most")


def attack_table(trials: Sequence[AttackTrial]) -> Table:
    """One row an attack and one column a reward: the margin, red where it falls; the reward itself, yellow where it is
    paid, of one that does not say what is right."""
    table = Table(title="attacks", box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    table.caption = "margin, 1 as the oracle, of what says what is right; reward of what does not"
    table.caption_justify = "left"
    table.add_column("", no_wrap=True)
    for one in trials:
        table.add_column(plain(one.said), justify="right")
    for honest in ("oracle", "wrong"):
        table.add_row(honest, *(two_digits(_mean(one, honest)) for one in trials), style="bright_black")
    for name in dict.fromkeys(tried.attack for one in trials for tried in one.tried):
        table.add_row(name, *(_cell(one, name) for one in trials))
    return table


def spread_table(channels: Sequence[Channel], *, title: str) -> Table:
    """One row a channel."""
    table = Table(title=plain(title), box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    heads = ("attempts", "mean", "sd", *QUANTILES, "alike", *(f"rho {name}" for name in COVARIATES))
    table.add_column("channel", overflow="fold")
    for head in heads:
        table.add_column(head, justify="right")
    for one in channels:
        figures = [one.mean, one.deviation, *one.quantiles, one.alike, *(one.along[name] for name in COVARIATES)]
        table.add_row(plain(one.name), str(one.attempts), *map(decimal, figures))
    table.caption = "alike: share of groups whose siblings all have the same value; rho: Spearman's, over attempts"
    table.caption_justify = "left"
    return table


def agreement_table(found: Mapping[str, Agreement], *, against: str) -> Table:
    """One row a reward that is compared with another."""
    table = Table(title=f"agreement with {against}", box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    for head in ("", "attempts", "equal", "Spearman", "Kendall", "kappa"):
        table.add_column(head, justify="right" if head else "left", overflow="fold")
    for name, one in found.items():
        figures = [one.equal, one.spearman, one.kendall, one.kappa]
        table.add_row(plain(name), str(one.attempts), *map(decimal, figures))
    return table


def determinism_table(found: Mapping[str, tuple[Determinism, float]]) -> Table:
    """One row a reward: of how many groups it says two things, and the seconds of its slowest group."""
    table = Table(title="asked again", box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    for head in ("", "groups", "two answers", "by order", "most", "slowest s", "failed"):
        table.add_column(head, justify="left" if head in ("", "failed") else "right", overflow="fold")
    for name, (one, slowest) in found.items():
        style = "red" if one.twice or one.reordered or one.failed else ""
        figures = (str(one.groups), str(one.twice), str(one.reordered), decimal(one.worst), decimal(slowest))
        table.add_row(plain(name), *figures, plain(one.failed), style=style)
    return table


def two_digits(value: float) -> str:
    """A margin or reward in two digits, without the sign of a zero; a dash for what is not there."""
    return "-" if not math.isfinite(value) else f"{round(value, 2) + 0.0:.2f}"


def _mean(trial: AttackTrial, honest: str) -> float:
    return next((getattr(one, honest) for one in trial.tried if one.scenes), math.nan)


def _cell(trial: AttackTrial, attack: str) -> Text:
    one = next((tried for tried in trial.tried if tried.attack == attack), None)
    if one is None:
        return Text("-")
    if one.failed:
        return Text("fails", style="red")
    if not one.scenes:
        return Text("unscored" if one.unscored else "-", style="bright_black")
    return _margin(one) if trial.right else Text(two_digits(one.reward), style="yellow" if one.paid else "")


def _margin(one: Attacked) -> Text:
    share = f" {one.fell}/{one.told}" if 0 < one.fell < one.told else ""
    return Text(two_digits(one.margin) + share, style="bold red" if one.fell else "")
