"""A call of each sandbox against a process for each call."""

from typing import Any

from pages.tables import table, verdict

NAMES = {
    "embedded": "embedded interpreter, a session",
    "cpython": "CPython under bubblewrap, a session",
    "process": "a process for each call, no sandbox",
    "process under bubblewrap": "a process under bubblewrap for each call",
}
HEAD = ["", "median of the rounds' medians, ms", "p99, ms", "calls", "x"]


def section(found: dict[str, Any]) -> str:
    """Milliseconds of a call, and how many times as fast as a plain process."""
    calls = {NAMES[name]: one for name, one in found["calls"].items()}
    long = found.get("embedded_after_many_calls")
    if long:
        calls[f"embedded interpreter, a session after {long['calls_before']} calls"] = long
    base = found["calls"]["process"]["median_ms"]
    rows = [
        [
            name,
            f"{one['median_ms']:.2f} [{one['lowest_ms']:.2f}, {one['highest_ms']:.2f}]",
            f"{one['p99_ms']:.2f}",
            str(one["calls"]),
            f"{base / one['median_ms']:.1f}",
        ]
        for name, one in calls.items()
    ]
    goals = [f"{goal:.0f} x {NAMES[name]}: {verdict(found['reached'][name])}" for name, goal in found["goals"].items()]
    text = f"Latency of `{found['code']}`, {found['rounds']} rounds in turn; a session makes "
    text += f"{found['calls_of_a_session']} calls. Command: `{found['command']}`.\n"
    return f"{text}\n{table(HEAD, rows)}\nGoals: {'; '.join(goals)}.\n"
