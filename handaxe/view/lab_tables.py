"""Terminal tables of `handaxe lab`: attacks on rewards, channels, agreement of rewards."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from handaxe.evaluation.agreement import COVARIATES, Agreement, ChannelSummary
from handaxe.evaluation.attack_trials import AttackResult, AttackTrial
from handaxe.evaluation.rescoring import Determinism
from handaxe.view.escape_markup import escaped_text
from handaxe.view.fitted_table import FittedTable
from handaxe.view.terminal_tables import decimal

__all__ = ["agreement_table", "attack_table", "channel_table", "determinism_table", "two_digits"]

QUANTILES = ("min", "25 %", "median", "75 %", "max")


def attack_table(trials: Sequence[AttackTrial]) -> Table:
    """A row for each attack, a column for each reward. A measure of correctness shows margins, red for a fall;
    another reward shows rewards, yellow if the attack is paid."""
    table = FittedTable(title="attacks", box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    table.caption = "margin (1: as the oracle) of rewards that measure correctness; reward of the others"
    table.caption_justify = "left"
    table.add_column("", no_wrap=True)
    for one in trials:
        table.add_column(escaped_text(one.name), justify="right")
    for honest in ("oracle", "wrong"):
        table.add_row(honest, *(two_digits(_mean(one, honest)) for one in trials), style="bright_black")
    for name in dict.fromkeys(result.attack for one in trials for result in one.results):
        table.add_row(name, *(_cell(one, name) for one in trials))
    return table


def channel_table(channels: Sequence[ChannelSummary], *, title: str) -> Table:
    """A row for each channel."""
    table = FittedTable(title=escaped_text(title), box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    heads = ("rollouts", "mean", "sd", *QUANTILES, "uniform", *(f"rho {name}" for name in COVARIATES))
    table.add_column("channel", overflow="fold")
    for head in heads:
        table.add_column(head, justify="right")
    for one in channels:
        figures = [one.mean, one.std, *one.quantiles, one.uniform, *(one.correlations[name] for name in COVARIATES)]
        table.add_row(escaped_text(one.name), str(one.rollouts), *map(decimal, figures))
    table.caption = "uniform: share of groups with equal values of all siblings; rho: Spearman's, over rollouts"
    table.caption_justify = "left"
    return table


def agreement_table(found: Mapping[str, Agreement], *, against: str) -> Table:
    """A row for each pair of rewards."""
    table = FittedTable(title=f"agreement with {against}", box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    for head in ("", "rollouts", "equal", "Spearman", "Kendall", "kappa"):
        table.add_column(head, justify="right" if head else "left", overflow="fold")
    for name, one in found.items():
        figures = [one.equal, one.spearman, one.kendall, one.kappa]
        table.add_row(escaped_text(name), str(one.rollouts), *map(decimal, figures))
    return table


def determinism_table(found: Mapping[str, tuple[Determinism, float]]) -> Table:
    """A row for each reward: groups with unequal scores in repeated calls, and seconds of the slowest group."""
    table = FittedTable(title="repeated calls", box=SIMPLE_HEAD, title_justify="left", title_style="bold")
    for head in ("", "groups", "repeated", "reordered", "largest", "slowest s", "failed"):
        table.add_column(head, justify="left" if head in ("", "failed") else "right", overflow="fold")
    for name, (one, slowest) in found.items():
        style = "red" if one.repeated or one.reordered or one.failed else ""
        figures = (str(one.groups), str(one.repeated), str(one.reordered), decimal(one.largest), decimal(slowest))
        table.add_row(escaped_text(name), *figures, escaped_text(one.failed), style=style)
    return table


def two_digits(value: float) -> str:
    """Format a margin or reward with two digits; zero has no sign, a missing value is a dash."""
    return "-" if not math.isfinite(value) else f"{round(value, 2) + 0.0:.2f}"


def _mean(trial: AttackTrial, honest: str) -> float:
    return next((getattr(one, honest) for one in trial.results if one.scenes), math.nan)


def _cell(trial: AttackTrial, attack: str) -> Text:
    one = next((result for result in trial.results if result.attack == attack), None)
    if one is None:
        return Text("-")
    if one.failed:
        return Text("fails", style="red")
    if not one.scenes:
        return Text("unscored" if one.unscored else "-", style="bright_black")
    if trial.measures_correctness:
        return _margin(one)
    return Text(two_digits(one.reward), style="yellow" if one.paid else "")


def _margin(one: AttackResult) -> Text:
    share = f" {one.fell}/{one.separated}" if 0 < one.fell < one.separated else ""
    return Text(two_digits(one.margin) + share, style="bold red" if one.fell else "")
