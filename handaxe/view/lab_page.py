"""docs/lab.md: which rewards fall to which attack, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from handaxe.evaluation.attacks import ATTACKS
from handaxe.evaluation.lab import Attacked, AttackTrial
from handaxe.view.lab_tables import two_digits

__all__ = ["LabResults", "lab_tables", "stale"]

CLOSE = 0.015
"""By how much a figure of the page may differ from what is measured: figures have two digits."""
SHOWN = 60
"""Characters of what an attack said."""
NUMBER = re.compile(r"-?\d+\.\d+")


class LabResults:
    """Everything that the page shows.

    Args:
        rewards: trials of the files of rewards/ and judges/.
        recipes: trials of worlds and recipes.
        plain: recipes that pay what their world pays.
        left_out: what is not tried, and why.
        explained: name of a reward's file, recipe or world -> why what falls there does.
    """

    def __init__(
        self,
        rewards: Sequence[AttackTrial],
        recipes: Sequence[AttackTrial],
        *,
        plain: Sequence[str],
        left_out: Mapping[str, str],
        explained: Mapping[str, str],
    ):
        self.rewards, self.recipes = rewards, recipes
        self.plain, self.left_out = plain, left_out
        self.explained = explained


def lab_tables(found: LabResults) -> str:
    """The part of the page that is measured, without the text before it."""
    both = [*found.rewards, *found.recipes]
    right, form = [one for one in found.rewards if one.right], [one for one in found.rewards if not one.right]
    holds = sum(not one.falls for one in both if one.right)
    lines = [
        "## What falls",
        "",
        f"Of {len(both)} rewards tried, {sum(one.right for one in both)} say what is right; {holds} of these hold "
        "against every attack.",
        "",
        *_falls(both, found.explained),
        "",
        "## Rewards and judges that say what is right",
        "",
        *_table(right),
        "",
        "## Rewards and judges that pay for something else",
        "",
        "What they pay is no right answer, so that each is paid to attacks too: give them with a reward that says what",
        "is right, and behind it (`gate`, `ladder`) where the table has them high. Figures are rewards; bold: as much",
        "as the oracle has at some scene at which it has no more than the wrong attempt.",
        "",
        *_table(form),
        "",
        "## Recipes, each in its world",
        "",
        "What each world pays by itself, and what each recipe pays that pays something else.",
        "",
        *_table([one for one in found.recipes if one.right]),
        "",
    ]
    if other := [one for one in found.recipes if not one.right]:
        lines += ["These do not tell right from wrong at most scenes:", "", *_table(other), ""]
    lines += [f"These pay what their world pays: {', '.join(f'`{name}`' for name in found.plain)}.", ""]
    out = "; ".join(f"`{name}`, since {why}" for name, why in found.left_out.items())
    return "\n".join([*lines, f"Not tried: {out}.", ""])


def stale(old: str, new: str, *, unmeasured: Sequence[str] = ()) -> str:
    """The first line of a new page that the old one does not have, up to rounding; "" where it has them all.

    Args:
        old: the page as it is.
        new: as it is measured.
        unmeasured: rewards whose lines are taken as the old page has them, since they were not asked now.
    """
    have, want = ([line for line in text.split("\n") if not _of(line, unmeasured)] for text in (old, new))
    for one, other in zip([*have, ""], [*want, ""]):
        mine, theirs = ([float(x) for x in NUMBER.findall(line)] for line in (one, other))
        near = len(mine) == len(theirs) and all(abs(a - b) <= CLOSE * max(1, abs(a)) for a, b in zip(mine, theirs))
        if not near or NUMBER.sub("#", one) != NUMBER.sub("#", other):
            return f"{one!r} should be {other!r}"
    return "" if len(have) == len(want) else "it has another number of lines"


def _of(line: str, names: Sequence[str]) -> bool:
    """Whether a line is about one of these, or counts all."""
    return any(f"`{name}`" in line for name in names) or (bool(names) and line.startswith("Of "))


def _falls(trials: Sequence[AttackTrial], explained: Mapping[str, str]) -> list[str]:
    lines = []
    for one in trials:
        if one.falls:
            what = ", ".join(f"{fall.attack} ({_where(fall)})" for fall in one.falls)
            names = (one.said.partition("(")[0].strip(), f"world {one.world}")
            why = next((explained[name] for name in names if name in explained), "The reason is not known yet.")
            lines.append(f"- `{one.said}` in {one.world}: {what}. {why}")
    return lines or ["Nothing."]


def _where(fall: Attacked) -> str:
    said = fall.example.replace("`", "'").replace("\n", " ").encode("ascii", "backslashreplace").decode()
    said = f"{said[:SHOWN]}..." if len(said) > SHOWN else said
    return f"{fall.fell} of {fall.told}" + (f", such as `{said}`" if said.strip() else "")


def _table(trials: Sequence[AttackTrial]) -> list[str]:
    heads = ["reward", "world", "oracle", "wrong", *ATTACKS]
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *map(_row, trials)]


def _row(trial: AttackTrial) -> str:
    by_name = {one.attack: one for one in trial.tried}
    honest = next((one for one in trial.tried if one.scenes), None)
    cells = ["-", "-"] if honest is None else [two_digits(honest.oracle), two_digits(honest.wrong)]
    cells += [_cell(trial, by_name[name]) for name in ATTACKS]
    return "| " + " | ".join([f"`{trial.said}`", trial.world, *cells]) + " |"


def _cell(trial: AttackTrial, one: Attacked) -> str:
    if one.failed:
        return "fails"
    if not one.scenes:
        return "unscored" if one.unscored else "-"
    if not trial.right:
        return f"**{two_digits(one.reward)}**" if one.paid else two_digits(one.reward)
    return f"**{two_digits(one.margin)}**" if one.fell else two_digits(one.margin)
