"""Variance of a paired difference by source, and settings that reduce it."""

import math
from typing import Any

from pages.tables import spread, table


def section(found: dict[str, Any]) -> str:
    """A row a claim, then a row a setting."""
    rows, pooled = found["claims"], found["pooled"]
    pairs = sorted({row["pairs"] for row in rows})
    counts = f"{pairs[0]}" if len(pairs) == 1 else f"{pairs[0]} to {pairs[-1]}"
    text = (
        f"Variance of the difference of a pair of runs, for {len(rows)} claims of different worlds, of {counts} pairs "
        f"each and the pairs of the stored results. Reference: {found['setting']['few']} held-out tasks, 1 sample. "
        "The tasks are the same in every pair. Shares: training seed; interaction of seed and task; sampling. A "
        "negative share is an estimate of a share near 0. Offset: standard deviation of the mean difference over other "
        "draws of the tasks, which no number of pairs reduces. Command: `python "
        f"bench/variance.py --pairs {pairs[-1]}`.\n"
    )
    head = ["world", "claim", "standard deviation of a pair", "seed", "tasks", "sampling", "offset", "cheapest halving"]
    shown = [_row(row) for row in rows]
    shares = [spread([row["shares"][name] for row in rows]) for name in ("seed", "tasks", "sampling")]
    shown.append(["median [least, most]", "", "", *shares, "", ""])
    note = (
        "Each setting relative to the reference, median [least, most] over the claims: variance of a pair, width of "
        "an interval, seconds of a run, and seconds for half the variance, with more pairs where the setting alone is "
        "not enough. Seconds are processor time, on a busy machine. "
    )
    three = pooled["last_three"]
    note += (
        f"The mean of the last three evaluations has the part of the seed unchanged there; measured over all pairs, "
        f"its variance is {three['ratio']:.2f} of that of the last evaluation ({three['free']} degrees of freedom).\n"
    )
    names = ["setting", "claims", "variance", "width", "seconds", "seconds for half the variance"]
    lines = [
        [
            name,
            str(sum(name in row["settings"] for row in rows)),
            _range(one["variance"]),
            f"{100 * (math.sqrt(max(0.0, one['variance'][0])) - 1):+.0f} %",
            _range(one["seconds"]),
            _range(one["halving"]),
        ]
        for name, one in sorted(pooled["settings"].items(), key=lambda item: item[1]["halving"][0])
    ]
    lines += [
        [f"{name} on both sides", str(len(rows)), _range(one), f"{100 * (math.sqrt(one[0]) - 1):+.0f} %", "1.00", ""]
        for name, one in pooled["independent"].items()
    ]
    return f"{text}\n{table(head, shown)}\n{note}\n{table(names, lines)}"


def _row(row: dict[str, Any]) -> list[str]:
    shares = [f"{row['shares'][name]:.2f}" for name in ("seed", "tasks", "sampling")]
    claim = f"{row['metric']}, `{row['method']}` against `{row['baseline']}`"
    return [f"`{row['world']}`", claim, f"{row['deviation']:.3g}", *shares, f"{row['offset']:.2g}", row["cheapest"]]


def _range(values: list[float]) -> str:
    """Median, least and greatest value."""
    middle, least, most = values
    return f"{middle:.2f}" if least == most else f"{middle:.2f} [{least:.2f}, {most:.2f}]"
