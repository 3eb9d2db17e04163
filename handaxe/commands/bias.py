"""`handaxe bias [--check]`: write docs/bias.md and its plot, bias and variance of every credit, or check the page."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

import handaxe
from handaxe.commands.output import console, note
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import HandaxeError, InputError
from handaxe.evaluation.mechanisms import list_mechanisms, locate_test, read_test_constant
from handaxe.view.plots import plot_bias

if TYPE_CHECKING:
    from handaxe.evaluation import decomposition, gradient_bias
else:
    decomposition = DeferredModule("handaxe.evaluation.decomposition")
    gradient_bias = DeferredModule("handaxe.evaluation.gradient_bias")

__all__ = ["BiasOptions", "bias_cases", "main"]

SIZE = 4
KINDS = ("Credit", "AdvantageTransform")
DECOMPOSITION = ((-0.5, 0.0, 0.5, 0.9), (1.0, 2.0, 5.0), (4, 8, 32))
"""Correlations, ratios of spreads and group sizes of the section on rewards with several parts."""
TOLERANCE = 2e-3
"""Relative difference of a figure that is rounding: figures have three digits."""
HEAD = """# Bias and variance of every credit

Written by `handaxe bias` from the constants `BIAS` of the credits' tests; `handaxe bias --check` finds a stale page.

A credit estimates the policy gradient. The page computes the quality of the estimate exactly, without sampling: on a
decision process with at most three turns, ended by the policy (`handaxe/testing/mdp.py`), all batches of {size}
rollouts are listed with probabilities. Mean and variance of the estimate

    g = 1/n sum_i sum_t A_i,t * d log pi(a_i,t)

are finite sums, and so is the true gradient J'. Rewards come in every turn, the outcome at the end.

- unbiased: E g = J' (yes); E g = c J' with c > 0 (up to its length: a learning rate compensates); or neither (no).
  Decided on two processes.
- length: c = E g . J' / J' . J'
- bias: abs(E g - c J') / abs(c J'), without compensation by any learning rate
- angle: degrees between E g and J'
- variance: E abs(g - E g)^2 / abs(c J')^2, of a batch of {size}

Transforms of a whole batch receive two groups of two. In the section "Forks", every rollout with a second turn is
forked at the second turn, once, and the shared prefix trains in both.
"""

DECOMPOSED = """
## Rewards of several parts

A reward r = r_1 + r_2 is normalized as a sum (joint), or by part with added advantages (separate; for example
`credit.total` of `group_norm(channel=...)`). "Within a group" is arithmetic for a group with exactly the correlation
and the spreads 1 and s. The other columns are sums over all groups of G rollouts of a process with four equally likely
rollouts (`handaxe/evaluation/decomposition.py`), with the correlation and the spreads over the whole process.

- angle: degrees between separate and joint, of the advantages within a group, or of the gradients at G
- length: of the separate advantages, relative to joint
- joint, separate: degrees between each and the true gradient of the sum, at the largest G

At equal spreads, separate and joint point in the same direction within a group, at any correlation. At unequal spreads,
separate amplifies the part with the smaller spread, even for uncorrelated parts. Equal spreads over the process are not
equal within a small group: a group with two distinct rollouts levels any two parts. Large groups remove this effect.
"""


@dataclass(frozen=True)
class BiasOptions:
    """Write docs/bias.md, the exact bias and variance of every credit, and docs/credit.png, its plot. It takes some
    ten seconds.

    Args:
        check: write nothing; fail if the page is stale.
        no_plots: write no plot; plots need matplotlib, extra [plots].
        root: the checkout; by default the one that contains this package.
    """

    check: bool = False
    no_plots: bool = False
    root: Path | None = None


def main(arguments: list[str]) -> int:
    """Write or check; return the exit code."""
    options = tyro.cli(BiasOptions, args=arguments, prog="handaxe bias")
    root = options.root or Path(handaxe.__file__).parents[1]
    if not (root / "pyproject.toml").exists():
        raise InputError(f"{root} is not a checkout of handaxe; pass --root FOLDER")
    cases, reasons = bias_cases()
    found = gradient_bias.measure_bias(cases, size=SIZE)
    file, text = root / "docs" / "bias.md", _page(found, reasons)
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
        raise HandaxeError(f"{file} is stale; `handaxe bias` rewrites it: {wrong}")
    note(console(), "checked", f"{file} is up to date")
    return 0


def bias_cases() -> tuple[list[gradient_bias.BiasCase], dict[str, str]]:
    """Cases of all credits and advantage transforms, and the reason for each mechanism without a case.

    Raises:
        InputError: a mechanism's test has no constant BIAS, which is a list of cases or a reason.
    """
    cases: list[gradient_bias.BiasCase] = []
    reasons: dict[str, str] = {}
    for module in list_mechanisms(*KINDS):
        rows = read_test_constant(module, "BIAS")
        if not rows:
            raise InputError(
                f"{locate_test(module)} has no constant BIAS: give BIAS = [BiasCase(...)] or a reason for none as text"
            )
        if isinstance(rows, str):
            reasons[module.rpartition(".")[2]] = rows
        else:
            cases += rows
    return cases, reasons


def _page(found: Sequence[gradient_bias.BiasRow], reasons: Mapping[str, str]) -> str:
    linear = [one for one in found if not one.case.forks]
    turns = [one.case.text for one in linear if one.unbiased == "yes" and one.case.by_turn]
    index = next(one for one in linear if one.case.text == 'turn_norm(norm="index", std=None)')
    lines = [
        HEAD.format(size=SIZE),
        "## Summary",
        "",
        f"- Unbiased credits of per-turn rewards: {', '.join(f'`{text}`' for text in turns)}.",
        f"- A mean by turn index, taken before rewards are summed, bends the gradient by {index.angle:.1f} degrees:",
        "  a longer rollout pays the mean of each additional turn, a hidden price (verl issue 7244). The price remains",
        "  at any group size (`tests/evaluation/test_gradient_bias.py`).",
        "- Division by a standard deviation bends the gradient: compare the rows with and without `std=None`.",
        "- Forks favor rollouts with at least two turns; no credit here corrects the preference.",
        "",
        "## Separate rollouts",
        "",
        *_table(linear),
        "",
        "## Forks",
        "",
        *_table([one for one in found if one.case.forks]),
        "",
        *_decomposed(),
        "## Not measured",
        "",
        *(f"- `{name}`: {reasons[name]}" for name in sorted(reasons)),
        "",
    ]
    return "\n".join(lines)


def _decomposed() -> list[str]:
    correlations, spreads, sizes = DECOMPOSITION
    angles = " | ".join(f"angle at G {size}" for size in sizes)
    lines = [f"| correlation | s | angle within a group | length | {angles} | joint | separate |"]
    lines.append("|" + "---|" * (6 + len(sizes)))
    for correlation in correlations:
        for spread in spreads:
            found = [decomposition.compare_normalization(correlation, spread, size=size) for size in sizes]
            last = found[-1]
            cells = [f"{correlation:g}", f"{spread:g}", f"{last.within_angle:.1f}", f"{last.within_length:.3f}"]
            cells += [f"{one.angle:.1f}" for one in found] + [f"{last.joint_bias:.1f}", f"{last.separate_bias:.1f}"]
            lines.append("| " + " | ".join(cells) + " |")
    return [*DECOMPOSED.strip().split("\n"), "", *lines, ""]


def _table(found: Sequence[gradient_bias.BiasRow]) -> list[str]:
    rows = [
        f"| `{one.case.text}` | {one.unbiased} | {one.length:.3f} | {_number(one.bias)} | {one.angle:.1f} "
        f"| {_number(one.variance)} |"
        for one in found
    ]
    return ["| credit | unbiased | length | bias | angle | variance |", "|---|---|---|---|---|---|", *rows]


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"


def _difference(old: str, new: str) -> str:
    """The first line that differs by more than rounding; "" for equal pages."""
    for one, other in zip([*old.split("\n"), ""], [*new.split("\n"), ""]):
        mine, theirs = (re.findall(r"-?\d+\.\d+", line) for line in (one, other))
        shape = [re.sub(r"-?\d+\.\d+", "#", line) for line in (one, other)]
        near = all(abs(float(a) - float(b)) <= TOLERANCE * max(1.0, abs(float(a))) for a, b in zip(mine, theirs))
        if shape[0] != shape[1] or not near:
            return f"{one!r} should be {other!r}"
    return "" if len(old.split("\n")) == len(new.split("\n")) else "the number of lines differs"
