"""Delay of a client of the chat server beside one hostile request of another client."""

from typing import Any

from pages.tables import spread, table, verdict

LIMIT = 50.0
"""Milliseconds by which one request may delay a request of another client."""


def section(found: dict[str, Any]) -> str:
    """Milliseconds by family of bodies."""
    rows = []
    for family in dict.fromkeys(one["family"] for one in found["bodies"]):
        bodies = [one for one in found["bodies"] if one["family"] == family]
        largest = max(one["bytes"] for one in bodies)
        columns = [[one[name] for one in bodies] for name in ("alone_worst_ms", "delay_ms", "longest_delay_ms")]
        rows.append([family, f"{largest:,}", *(spread(column, 1) for column in columns)])
    before, after = found["load"]
    text = (
        f"{len(found['bodies'])} bodies, sent to `handaxe serve --model {found['model']}` while another client sends "
        "short requests. The delay is the longest wait beside a body less the median wait without one: the least and "
        f"the longest of {found['repeats']} repeats, since other programs of the machine only add to it. Load of the "
        f"machine before and after: {before:.1f} and {after:.1f} on {found['cores']} cores. Command: "
        f"`python bench/serving.py --bodies {len(found['bodies'])}`.\n"
    )
    head = ["bodies", "largest, bytes", "longest wait without a body, ms", "delay, ms", "longest delay, ms"]
    goal = f"Goal: in the least of the repeats, no body delays another client by more than {LIMIT:.0f} ms"
    return f"{text}\n{table(head, rows)}\n{goal}: {verdict(found['worst']['delay_ms'] < LIMIT)}.\n"
