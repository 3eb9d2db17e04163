"""How long one waits for a run of many trajectories."""

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
"""Milliseconds in which a large run is to open."""


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
    text = (
        f"A run of {count:,} trajectories ({found['megabytes']:.0f} MB), made by the training loop's own parts in the "
        f"world of sums with a scripted policy, and one of {small:,}. Every time opens the record anew. The machine "
        f"had a load of {found['load']:.1f} on {found['cores']} cores: processor time is what to read. Command: "
        f"`python bench/view.py`.\n"
    )
    head = ["", f"ms, {count:,}", f"cpu ms, {count:,}", f"cpu ms, {small:,}", "ratio of cpu"]
    opens = [found["medians"][name]["large"]["ms"] for name in ("index", "page")]
    reached = [sum(opens) < LIMIT] if count >= WANTED else []
    goal = f"Goal: a run of {WANTED:,} trajectories opens in under two seconds: {verdict(*reached)}.\n"
    return f"{text}\n{table(head, rows)}\n{goal}"
