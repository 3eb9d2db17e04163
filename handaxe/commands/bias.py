"""`handaxe bias [--check]`: write docs/bias.md, the bias and variance of every credit, with a picture, or say whether
the page is stale."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

import handaxe
from handaxe import credit
from handaxe.commands.output import console, note
from handaxe.core.errors import HandaxeError, InputError
from handaxe.evaluation.bias import Measured, measure
from handaxe.evaluation.bias_cases import CASES, LEFT_OUT
from handaxe.evaluation.decomposition import joint_and_apart
from handaxe.view.plots import plot_bias

__all__ = ["BiasOptions", "main"]

SIZE = 4
PARTS = ((-0.5, 0.0, 0.5, 0.9), (1.0, 2.0, 5.0), (4, 8, 32))
"""Correlations, ratios of spreads, and siblings a group, of the section on rewards of several parts."""
CLOSE = 2e-3
"""By which share a figure of a page may differ from what is measured: figures have three digits."""
HEAD = """# Bias and variance of every credit

Written by `handaxe bias`; `handaxe bias --check` says whether it is stale.

A credit estimates the policy gradient. Here is how well, computed and not sampled: on a decision process with at most
three turns in which the policy decides when to stop (`handaxe/testing/mdp.py`), all batches of {size} attempts are
listed with their probability. So mean and variance of the estimate

    g = 1/n sum_i sum_t A_i,t * d log pi(a_i,t)

are finite sums, and so is the true gradient J'. Rewards come in every turn, the outcome at the end.

- unbiased: E g = J' (yes); E g = c J' with c > 0 (up to its length: a learning rate makes up for it); or neither (no).
  Decided on two processes.
- length: c = E g . J' / J' . J'
- bias: abs(E g - c J') / abs(c J'), what no learning rate makes up for
- angle: degrees between E g and J'
- variance: E abs(g - E g)^2 / abs(c J')^2, of a batch of {size}

What looks at a whole batch is given two groups of two. Under "forks", attempts that get to their second turn are forked
there, once, and what they share trains in both.
"""

DECOMPOSED = """
## Rewards of several parts

A reward r = r_1 + r_2 may be normalised as one (joint) or each part for itself, the advantages being added (apart; such
as `credit.total` of `group_norm(channel=...)`). "Within a group" is arithmetic, of one whose parts have just this
correlation and spreads 1 and s; the other columns are sums over all groups of G attempts of a process with four
attempts of equal chance (`handaxe/evaluation/decomposition.py`), whose parts have the correlation and spreads on the
whole.

- angle: degrees between apart and joint, of the advantages within a group, or of the gradients at G
- length: of the advantages apart, as a share of joint
- joint, apart: degrees between either and the true gradient of the sum, at the largest G

Where spreads are equal, apart and joint point the same way within a group, whatever the correlation; where they are
not, apart raises the part of the smaller spread, even if the parts are uncorrelated. But equal spreads on the whole are
none in a small group: one that holds two kinds of attempts levels any two parts. Large groups end that.
"""


@dataclass(frozen=True)
class BiasOptions:
    """Write docs/bias.md: the bias and variance of every credit, computed exactly, and docs/credit.png, the same as a
    picture. It takes some ten seconds.

    Args:
        check: write nothing; fail when the page is not what would be written.
        no_plots: write no picture; it needs matplotlib, extra [plots].
        root: the repository; the one that this package lies in unless told otherwise.
    """

    check: bool = False
    no_plots: bool = False
    root: Path | None = None


def main(arguments: list[str]) -> int:
    """Write or check; returns the exit code."""
    options = tyro.cli(BiasOptions, args=arguments, prog="handaxe bias")
    root = options.root or Path(handaxe.__file__).parents[1]
    if not (root / "pyproject.toml").exists():
        raise InputError(f"{root} is not a checkout of handaxe; pass --root FOLDER")
    found = measure(CASES, size=SIZE)
    file, text = root / "docs" / "bias.md", _page(found, _not_measured())
    if not options.check:
        file.write_text(text, encoding="utf-8")
        note(console(), "written", str(file))
        if not options.no_plots:
            picture = root / "docs" / "credit.png"
            plot_bias([one for one in found if not one.case.forks], picture)
            note(console(), "written", str(picture))
        return 0
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    if wrong := _difference(old, text):
        raise HandaxeError(f"{file} is stale; `handaxe bias` writes it anew: {wrong}")
    note(console(), "checked", f"{file} is up to date")
    return 0


def _not_measured() -> dict[str, str]:
    """Credits that the table does not hold, and why.

    Raises:
        InputError: a file of `credit/` is neither measured nor left out.
    """
    missing = sorted(
        {file.stem for file in Path(credit.__path__[0]).glob("*.py")}
        - {"__init__"}
        - {case.credit for case in CASES}
        - set(LEFT_OUT)
    )
    if missing:
        raise InputError(f"evaluation/bias_cases.py measures {', '.join(missing)} nowhere: add a Case, or say why not")
    return dict(LEFT_OUT)


def _page(found: Sequence[Measured], left_out: dict[str, str]) -> str:
    plain = [one for one in found if not one.case.forks]
    turns = [one.case.said for one in plain if one.unbiased == "yes" and _by_turn(one.case.said)]
    index = next(one for one in plain if one.case.said == 'turn_norm(norm="index", std=None)')
    lines = [
        HEAD.format(size=SIZE),
        "## What it says",
        "",
        f"- Credits of turns without bias: {', '.join(f'`{said}`' for said in turns)}.",
        f"- A mean by turn index taken before rewards are summed bends the gradient by {index.angle:.1f} degrees: who",
        "  goes on pays the mean of one more turn, a hidden price on every further turn (verl issue 7244). A large",
        "  group does not help: the price is what is left when it grows (`tests/evaluation/test_bias.py`).",
        "- Dividing by a standard deviation bends it too: compare the lines with and without `std=None`.",
        "- Forks favour attempts that get to where they are forked; no credit here weighs them back.",
        "",
        "## Attempts that are alone",
        "",
        *_table(plain),
        "",
        "## Forks",
        "",
        *_table([one for one in found if one.case.forks]),
        "",
        *_decomposed(),
        "Not measured: " + "; ".join(f"`{name}`, since {why}" for name, why in left_out.items()) + ".",
        "",
    ]
    return "\n".join(lines)


def _decomposed() -> list[str]:
    correlations, spreads, sizes = PARTS
    angles = " | ".join(f"angle at G {size}" for size in sizes)
    lines = [f"| correlation | s | angle within a group | length | {angles} | joint | apart |"]
    lines.append("|" + "---|" * (6 + len(sizes)))
    for correlation in correlations:
        for spread in spreads:
            found = [joint_and_apart(correlation, spread, size=size) for size in sizes]
            last = found[-1]
            cells = [f"{correlation:g}", f"{spread:g}", f"{last.within_angle:.1f}", f"{last.within_length:.3f}"]
            cells += [f"{one.angle:.1f}" for one in found] + [f"{last.joint_bias:.1f}", f"{last.apart_bias:.1f}"]
            lines.append("| " + " | ".join(cells) + " |")
    return [*DECOMPOSED.strip().split("\n"), "", *lines, ""]


def _by_turn(said: str) -> bool:
    return said.startswith(("return_to_go", "turn_", "bi_level", "step_", "min_form"))


def _table(found: Sequence[Measured]) -> list[str]:
    rows = [
        f"| `{one.case.said}` | {one.unbiased} | {one.length:.3f} | {_number(one.bias)} | {one.angle:.1f} "
        f"| {_number(one.variance)} |"
        for one in found
    ]
    return ["| credit | unbiased | length | bias | angle | variance |", "|---|---|---|---|---|---|", *rows]


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"


def _difference(old: str, new: str) -> str:
    """The first line that differs by more than rounding; "" where none does."""
    for one, other in zip([*old.split("\n"), ""], [*new.split("\n"), ""]):
        mine, theirs = (re.findall(r"-?\d+\.\d+", line) for line in (one, other))
        shape = [re.sub(r"-?\d+\.\d+", "#", line) for line in (one, other)]
        near = all(abs(float(a) - float(b)) <= CLOSE * max(1.0, abs(float(a))) for a, b in zip(mine, theirs))
        if shape[0] != shape[1] or not near:
            return f"{one!r} should be {other!r}"
    return "" if len(old.split("\n")) == len(new.split("\n")) else "it has another number of lines"
