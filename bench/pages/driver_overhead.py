"""What a turn costs besides sampling and tools."""

from typing import Any

from pages.tables import spread, table, verdict

NAMES = {
    "turn_us": "a turn of `linear`, environment called in a thread",
    "turn_async_us": "a turn of `linear`, environment awaited",
    "turn_tool_us": "a turn of `linear` in `tool_chat`, with a tool that does nothing",
    "driver_us": "the driver alone",
    "doubles_us": "the scripted engine and environment alone",
}

TURNS = ("turn", "turn_async", "turn_tool")


def section(found: dict[str, Any]) -> str:
    """Microseconds of a turn."""
    rows = [[text, spread(found["runs"][name], 1)] for name, text in NAMES.items()]
    text = (
        f"{found['live']} rollouts alive at the same time in one process, {found['turns']} turns each, with a scripted "
        "policy and an environment that answers at once. Command: "
        f"`python bench/driver_overhead.py --turns {found['turns']} --runs {len(found['runs']['turn_us'])}`.\n"
    )
    called, awaited, tool = (verdict(found[f"{name}_us"] - found["doubles_us"] < 100) for name in TURNS)
    goal = (
        "Goal: under 100 microseconds of overhead a turn, everything but the doubles counted: "
        f"{called} with the environment called, {awaited} with it awaited, {tool} in `tool_chat`.\n"
    )
    return f"{text}\n{table(['', 'microseconds'], rows)}\n{goal}"
