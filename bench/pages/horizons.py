"""Turns, tokens and cost of each world."""

from typing import Any

from pages.tables import spread, table


def section(found: list[dict[str, Any]]) -> str:
    """A row a setting."""
    text = (
        "The expert of a world plays 32 held-out tasks (or all, if there are fewer) in three rounds, each with "
        "other tasks. Tokens are bytes and marks of the tiny policy. Rollouts a minute and turns a second: median "
        "and range of the rounds on one core. The bare simulator makes its own steps without handaxe. Rollouts of "
        "`scienceworld` and `repair` are partly answered from memory: states and runs of tests that the tasks "
        "needed already. Last two columns: pass@1 of the start on 100 held-out tasks, and after 20 steps of "
        "`grpo`; empty if not measured. Command: `python bench/horizons.py`, without training `python "
        "bench/horizons.py --no-train`.\n"
    )
    head = ["world", "expert", "turns: median, most", "tokens: median, most", "rollouts a minute", "turns a second"]
    head += ["bare steps a second", "start", "after 20 steps"]
    return f"{text}\n{table(head, [_row(one) for one in found])}"


def _row(one: dict[str, Any]) -> list[str]:
    cells = [f"`{one['name']}`", f"{one['expert']:.2f}"]
    cells += [", ".join(f"{value:g}" for value in one[key]) for key in ("turns", "tokens")]
    cells += [spread(one[key], 0) if one[key] else "" for key in ("attempts_a_minute", "steps_a_second")]
    cells += [spread(one["bare_steps_a_second"], 0) if one["bare_steps_a_second"] else ""]
    return cells + [f"{one[key]:.2f}" if key in one else "" for key in ("start", "after_20_steps")]
