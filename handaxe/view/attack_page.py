"""docs/lab.md, attacks on rewards, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from handaxe.evaluation.attack_trials import AttackResult, AttackTrial
from handaxe.evaluation.attacks import ATTACKS
from handaxe.view.lab_tables import two_digits

__all__ = ["LabResults", "lab_tables", "stale"]

TOLERANCE = 0.015
"""Difference of a figure that is rounding: figures have two digits."""
SHOWN = 60
"""Characters of an attack's final text."""
NUMBER = re.compile(r"-?\d+\.\d+")


class LabResults:
    """Content of the page.

    Args:
        rewards: trials of rewards and judges.
        methods: trials of worlds and methods.
        same: methods whose reward is that of their world.
        skipped: mechanism or method -> reason for no trial.
        why: name of a trial, or "world NAME" -> reason for a fall.
    """

    def __init__(
        self,
        rewards: Sequence[AttackTrial],
        methods: Sequence[AttackTrial],
        *,
        same: Sequence[str],
        skipped: Mapping[str, str],
        why: Mapping[str, str],
    ):
        self.rewards, self.methods = rewards, methods
        self.same, self.skipped = same, skipped
        self.why = why


def lab_tables(found: LabResults) -> str:
    """The measured part of the page."""
    both = [*found.rewards, *found.methods]
    right = [one for one in found.rewards if one.measures_correctness]
    other = [one for one in found.rewards if not one.measures_correctness]
    correct = [one for one in both if one.measures_correctness]
    lines = [
        "## Falls",
        "",
        f"Of {len(both)} rewards, {len(correct)} measure correctness; {sum(not one.falls for one in correct)} hold "
        "against every attack.",
        "",
        *_falls(both, found.why),
        "",
        "## Rewards and judges that measure correctness",
        "",
        *_table(right),
        "",
        "## Rewards and judges that measure another property",
        "",
        "Attacks earn rewards for another property than correctness. Combine such a reward with a correctness reward,",
        "and put rewards with high values in the table behind the correctness reward (`gate`, `ladder`). Figures are",
        "rewards; bold: at least the oracle's reward, at a scene at which the oracle earns no more than the wrong",
        "rollout.",
        "",
        *_table(other),
        "",
        "## Methods, each in its world",
        "",
        "The correctness rule of each world, and each different reward of a method.",
        "",
        *_table([one for one in found.methods if one.measures_correctness]),
        "",
    ]
    if rest := [one for one in found.methods if not one.measures_correctness]:
        lines += [
            "Rewards without a difference between correct and wrong rollouts at most scenes:",
            "",
            *_table(rest),
            "",
        ]
    lines += [
        f"Methods with the correctness rule of the world as reward: {', '.join(f'`{name}`' for name in found.same)}.",
        "",
    ]
    skipped = [f"- `{name}`: {why}" for name, why in found.skipped.items()]
    return "\n".join([*lines, "## Not attacked", "", *skipped, ""])


def stale(old: str, new: str, *, unmeasured: Sequence[str] = ()) -> str:
    """The first line of a new page with a difference of more than rounding from the old page; "" for equal pages.

    Args:
        old: the page as it is.
        new: the page as measured.
        unmeasured: rewards without a measurement, whose lines are not compared.
    """
    have, want = ([line for line in text.split("\n") if not _about(line, unmeasured)] for text in (old, new))
    for one, other in zip([*have, ""], [*want, ""]):
        mine, theirs = ([float(x) for x in NUMBER.findall(line)] for line in (one, other))
        near = len(mine) == len(theirs) and all(abs(a - b) <= TOLERANCE * max(1, abs(a)) for a, b in zip(mine, theirs))
        if not near or NUMBER.sub("#", one) != NUMBER.sub("#", other):
            return f"{one!r} should be {other!r}"
    return "" if len(have) == len(want) else "the number of lines differs"


def _about(line: str, names: Sequence[str]) -> bool:
    """True for a line with the name of a reward, or with the count of all rewards."""
    return any(f"`{name}`" in line for name in names) or (bool(names) and line.startswith("Of "))


def _falls(trials: Sequence[AttackTrial], why: Mapping[str, str]) -> list[str]:
    lines = []
    for one in trials:
        if one.falls:
            attacks = ", ".join(f"{fall.attack} ({_share(fall)})" for fall in one.falls)
            reason = why.get(one.name) or why.get(f"world {one.world}") or "The reason is not known yet."
            lines.append(f"- `{one.name}` in {one.world}: {attacks}. {reason}")
    return lines or ["Nothing."]


def _share(fall: AttackResult) -> str:
    text = fall.example.replace("`", "'").replace("\n", " ").encode("ascii", "backslashreplace").decode()
    text = f"{text[:SHOWN]}..." if len(text) > SHOWN else text
    return f"{fall.fell} of {fall.separated}" + (f", such as `{text}`" if text.strip() else "")


def _table(trials: Sequence[AttackTrial]) -> list[str]:
    heads = ["reward", "world", "oracle", "wrong", *ATTACKS]
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *map(_row, trials)]


def _row(trial: AttackTrial) -> str:
    by_name = {one.attack: one for one in trial.results}
    honest = next((one for one in trial.results if one.scenes), None)
    cells = ["-", "-"] if honest is None else [two_digits(honest.oracle), two_digits(honest.wrong)]
    cells += [_cell(trial, by_name[name]) for name in ATTACKS]
    return "| " + " | ".join([f"`{trial.name}`", trial.world, *cells]) + " |"


def _cell(trial: AttackTrial, one: AttackResult) -> str:
    if one.failed:
        return "fails"
    if not one.scenes:
        return "unscored" if one.unscored else "-"
    if not trial.measures_correctness:
        return f"**{two_digits(one.reward)}**" if one.paid else two_digits(one.reward)
    return f"**{two_digits(one.margin)}**" if one.fell else two_digits(one.margin)
