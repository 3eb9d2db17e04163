"""How long one waits for a run of many trajectories."""

import statistics
from typing import Any

from pages.tables import spread, table, verdict

NAMES = {
    "index": "what a run's page shows first: metrics, events, how many trajectories",
    "page": "the first 100 rows of the table",
    "sorted_page": "100 rows in the middle of the table, sorted by score",
    "step": "all groups of a step, with every token: 400 trajectories",
    "trajectory": "one trajectory with its siblings, and why it got no gradient",
    "search_outcome": "count and first 100 of those that call a tool and are wrong",
    "search_text": "count and first 100 of those in which a word was said",
}
WANTED = 100_000
LIMIT = 2000.0
"""Milliseconds in which the page of a large run is to show the first rows of its table."""


def section(found: dict[str, Any]) -> str:
    """Milliseconds, for a large run and a small one."""
    rows = []
    for name, words in NAMES.items():
        large, small = (found["runs"][size][name] for size in ("large", "small"))
        ratio = found["medians"][name]["large"]["cpu_ms"] / max(found["medians"][name]["small"]["cpu_ms"], 1e-9)
        rows.append(
            [words, spread(large["ms"], 1), spread(large["cpu_ms"], 1), spread(small["cpu_ms"], 1), f"{ratio:.1f}"]
        )
    count, small = found["trajectories"], found["small"]
    before, after = found["load"]
    text = (
        f"A run of {count:,} trajectories ({found['megabytes']:.0f} MB), made by the training loop's own parts in the "
        f"world of sums with a scripted policy, and one of {small:,}. Every time opens the record anew. Load of the "
        f"machine before and after: {before:.1f} and {after:.1f} on {found['cores']} cores"
        f"{'; processor time is what to read' if before > found['cores'] else ''}. Command: `python bench/view.py`.\n"
    )
    head = ["", f"ms, {count:,}", f"cpu ms, {count:,}", f"cpu ms, {small:,}", "ratio of cpu"]
    goal = (
        f"Goal: the page of {WANTED:,} trajectories has the first rows of its table in under two seconds, in the median"
    )
    return f"{text}\n{table(head, rows)}\n{_pages(found)}\n{goal}: {verdict(*_reached(found))}.\n"


def _pages(found: dict[str, Any]) -> str:
    """What a person waits for: the command, and then the page of the run."""
    browser = found["browser"]
    if browser["large"] is None:
        return "No page was opened: Chromium or Playwright was missing.\n"
    head = ["`handaxe view`, and the run's page in a new Chromium", "ms", "ms, the small run"]
    names = {
        "address_ms": "command to address",
        "rows_ms": "address to the first rows of its table",
        "scrolled_ms": "jump to the middle of the table, to the rows there",
    }
    there = [name for name in names if name in browser["large"]]  # older results lack the jump
    rows = [[names[name], *(spread(browser[size][name], 0) for size in ("large", "small"))] for name in there]
    missing = "" if "scrolled_ms" in there else "\nHow long a jump to the middle takes was not measured.\n"
    return table(head, rows) + missing


def _reached(found: dict[str, Any]) -> list[bool]:
    large = found["browser"]["large"]
    measured = large is not None and found["trajectories"] >= WANTED
    return [statistics.median(large["rows_ms"]) < LIMIT] if measured else []
