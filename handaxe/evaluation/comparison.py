"""Paired comparison of two evaluations of the same tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.html_table import html_table
from handaxe.evaluation.estimates import columns
from handaxe.evaluation.evaluation_result import Evaluation
from handaxe.ops.stats import ratio, ratio_difference_interval

__all__ = ["Comparison", "Difference", "compare"]


class Difference(NamedTuple):
    """after - before of a metric with a paired interval, over `tasks` tasks measured in both.

    verdict: "higher" or "lower" if the interval lies on one side of 0, else "no clear difference".
    """

    before: float
    after: float
    difference: float
    low: float
    high: float
    tasks: int
    verdict: Literal["higher", "lower", "no clear difference"]


@dataclass(frozen=True)
class Comparison:
    """Metric -> difference. Among several metrics some differ by chance, so choose yours in advance."""

    differences: Mapping[str, Difference]
    level: float

    def to_text(self) -> str:
        """A plain sentence for each metric."""
        lines = []
        for name, one in self.differences.items():
            change = f"{one.before:.4g} -> {one.after:.4g}, difference {one.difference:+.4g}"
            lines.append(f"{name}: {change} [{one.low:+.4g}, {one.high:+.4g}] over {one.tasks} tasks: {one.verdict}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = ["metric", "before", "after", "difference", f"{self.level:.0%} interval", "tasks", "verdict"]
        rows = [
            [name, *one[:2], f"{one.difference:+.4g}", f"[{one.low:+.4g}, {one.high:+.4g}]", one.tasks, one.verdict]
            for name, one in self.differences.items()
        ]
        return html_table(head, rows)


def compare(
    before: Evaluation, after: Evaluation, *, level: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Comparison:
    """Estimate the change of every metric by a paired bootstrap over tasks; hard tasks cancel out.

    Args:
        before: an evaluation.
        after: an evaluation of the same tasks, with the same k for pass@k.
        level: of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.

    Returns:
        A Comparison over the shared metrics. A task counts for a metric only if both evaluations measured it.

    Raises:
        InputError: the tasks differ.
    """
    first, second = {one.id: one for one in before.tasks}, {one.id: one for one in after.tasks}
    if first.keys() != second.keys():
        only = sorted(first.keys() ^ second.keys())
        raise InputError(f"{len(only)} tasks are in one evaluation only, such as {only[0]!r}")
    ids = sorted(first)
    ks = sorted(set(before.settings.get("ks", (1,))) & set(after.settings.get("ks", (1,))))
    old, new = columns([first[i] for i in ids], ks=ks), columns([second[i] for i in ids], ks=ks)
    differences = {}
    for name in old:
        both = old[name].usable_T & new[name].usable_T
        a, b = ((one.top_T[both], one.bottom_T[both]) for one in (old[name], new[name]))
        interval = ratio_difference_interval(a, b, level=level, resamples=resamples, seed=seed)
        verdict: Literal["higher", "lower", "no clear difference"] = "no clear difference"
        if interval.low > 0 or interval.high < 0:
            verdict = "higher" if interval.low > 0 else "lower"
        values = ratio(*a), ratio(*b)
        differences[name] = Difference(*values, values[1] - values[0], *interval, int(both.sum()), verdict)
    return Comparison(differences, level)
