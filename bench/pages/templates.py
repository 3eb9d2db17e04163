"""What chat templates cost."""

from statistics import median
from typing import Any

from pages.tables import spread, table, verdict


def section(found: dict[str, Any]) -> str:
    """Milliseconds, by tokenizer."""
    kinds = list(next(iter(found["templates"].values()))["ms"])
    head = ["tokenizer", "added tokens", *kinds]
    rows = [
        [name, str(one["added"]), *(spread(one["ms"][kind], 1) for kind in kinds)]
        for name, one in found["templates"].items()
    ]
    medians = [median(one["ms"][kind]) for one in found["templates"].values() for kind in kinds[1:3]]
    bounded = verdict(*(one < 10 for one in medians))
    text = (
        "Real tokenizers with their own chat templates: making a format, an opening with one tool, an extension by one "
        f"tool reply, and by replies of {found['size']:,} characters of three kinds. Milliseconds, on a machine with a "
        f"load of {found['load']} on {found['cores']} cores. "
        f"Command: `python bench/templates.py --runs {found['runs']}`.\n"
    )
    goal = f"Goal: an opening and an extension under 10 ms each, in the median: {bounded}.\n"
    return f"{text}\n{table(head, rows)}\n{goal}"
