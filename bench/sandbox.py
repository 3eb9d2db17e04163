"""Latency of one call to a Python tool: a warm session, embedded and under bubblewrap, against a process per call.

A process per call is how VerlTool's `python_code` tool runs a program. It is measured twice: plain, and under the same
bubblewrap as the session, since a plain process is no sandbox. All of them take turns in every round.

A session has SESSION calls, as many as a long rollout makes, after a first one that is not counted. The state of an
embedded session grows with every call, for it keeps the text of each program for later tracebacks, and a call takes
longer the larger the state is. So sessions are also measured that have made LONG calls before.

    python bench/sandbox.py --out bench/results/sandbox.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from handaxe.core.records import ToolCall
from handaxe.tools.cpython import cpython
from handaxe.tools.decorator import Tool
from handaxe.tools.python import python
from handaxe.tools.sandbox.command import find_bubblewrap
from handaxe.tools.sandbox.mounts import find_mounts

CODE = "print(2+3)"
GOALS = {"embedded": 30.0, "cpython": 5.0}
SESSION = 50
LONG = 1000
SETTLE = 0.3
"""Seconds in which the pool of sandboxes fills up again, so that no call is timed while it does."""


def session(tool: Tool) -> Callable[[], str]:
    """One more call of a session."""
    return lambda: tool.run(ToolCall("python", {"code": CODE}, "c0")).content


def sessions(make: Callable[[], Tool], count: int) -> list[float]:
    """Seconds of each call but the first of `count` sessions, sorted."""
    taken = []
    for _ in range(count):
        tool = make()
        measure(session(tool), 1)
        taken += measure(session(tool), SESSION)
        tool.owner.close()
    return sorted(taken)


def after_many_calls() -> Callable[[], Tool]:
    """Makes embedded sessions that have made LONG calls already."""
    tool = python()
    measure(session(tool), LONG)
    state = tool.owner.snapshot()

    def make() -> Tool:
        again = python()
        again.owner.restore(state)
        return again

    return make


def process(words: list[str]) -> Callable[[], str]:
    """One more process that runs the code and ends."""
    return lambda: subprocess.run(
        [*words, "-c", CODE], capture_output=True, text=True, check=True, cwd=Path("/")
    ).stdout.strip()


def bubblewrap() -> list[str]:
    """A process per call under bubblewrap: the same mounts as the session's, without its limits."""
    layout = find_mounts(None, ())
    words = [find_bubblewrap(), "--unshare-all", "--die-with-parent", "--clearenv", "--cap-drop", "ALL"]
    for target, path in layout.links:
        words += ["--symlink", target, path]
    for here, there in layout.mounts:
        words += ["--ro-bind", here, there]
    return [*words, "--proc", "/proc", "--tmpfs", "/session", "--chdir", "/session", layout.executable, "-I"]


def measure(act: Callable[[], str], calls: int) -> list[float]:
    """Seconds of each call, sorted."""
    taken = []
    for _ in range(calls):
        begin = time.perf_counter()
        shown = act()
        taken.append(time.perf_counter() - begin)
        assert shown == "5", shown
    return sorted(taken)


def summary(rounds: list[list[float]]) -> dict[str, Any]:
    """Milliseconds: the median of the rounds' medians, the least and greatest of these, and p99 over all calls."""
    medians = [1000 * statistics.median(one) for one in rounds]
    together = sorted(value for one in rounds for value in one)
    return {
        "median_ms": statistics.median(medians),
        "lowest_ms": min(medians),
        "highest_ms": max(medians),
        "p99_ms": 1000 * together[min(len(together) - 1, int(0.99 * len(together)))],
        "calls": len(together),
    }


def first_calls(count: int) -> dict[str, float]:
    """Milliseconds until a new session's first answer: from the warm pool, one at a time."""
    taken = []
    for _ in range(count):
        tool = cpython(packages=(), warm=2)
        time.sleep(SETTLE)
        taken += measure(session(tool), 1)
        tool.owner.close()
    return {"median_ms": 1000 * statistics.median(taken), "greatest_ms": 1000 * max(taken)}


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--quick", action="store_true", help="few calls, to see that it works")
    options = parser.parse_args()
    rounds, count, slow = (2, 1, 3) if options.quick else (5, 8, 40)
    plain, confined = process([sys.executable]), process(bubblewrap())
    acts: dict[str, Callable[[], list[float]]] = {
        "embedded": partial(sessions, python, count),
        "embedded, long": partial(sessions, after_many_calls(), count),
        "cpython": partial(sessions, partial(cpython, packages=()), count),
        "process": partial(measure, plain, slow),
        "process under bubblewrap": partial(measure, confined, slow),
    }
    taken: dict[str, list[list[float]]] = {name: [] for name in acts}
    for act in (partial(sessions, partial(cpython, packages=()), 1), plain, confined):
        act()
    for _ in range(rounds):
        for name, act in acts.items():
            time.sleep(SETTLE)
            taken[name].append(act())
    result = {name: summary(rounds) for name, rounds in taken.items()}
    long = {**result.pop("embedded, long"), "calls_before": LONG}
    base = result["process"]["median_ms"]
    factors = {name: base / result[name]["median_ms"] for name in GOALS}
    report = {
        "command": " ".join(["python", "bench/sandbox.py", *(["--quick"] if options.quick else [])]),
        "machine": {"python": platform.python_version(), "processors": os.cpu_count(), "system": platform.release()},
        "code": CODE,
        "rounds": rounds,
        "calls_of_a_session": SESSION,
        "calls": result,
        "embedded_after_many_calls": long,
        "faster_than_a_process": factors,
        "goals": GOALS,
        "reached": {name: factors[name] >= goal for name, goal in GOALS.items()},
        "first_call_of_a_session": first_calls(3 if options.quick else 20),
    }
    show(report)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1) + "\n")


def show(report: dict[str, Any]) -> None:
    """The table."""
    print(f"{'':26}{'median':>10}{'rounds':>20}{'p99':>10}  (milliseconds)")
    for name, row in report["calls"].items():
        spread = f"{row['lowest_ms']:.3f} to {row['highest_ms']:.3f}"
        print(f"{name:26}{row['median_ms']:10.3f}{spread:>20}{row['p99_ms']:10.3f}")
    for name, factor in report["faster_than_a_process"].items():
        verdict = "reached" if report["reached"][name] else "missed"
        goal = f"the goal of {report['goals'][name]:.0f} is {verdict}"
        print(f"{name}: {factor:.0f} times faster than a process per call; {goal}")
    long = report["embedded_after_many_calls"]
    print(f"embedded after {long['calls_before']} calls of the same session: median {long['median_ms']:.3f} ms")
    first = report["first_call_of_a_session"]
    print(f"first call of a CPython session: median {first['median_ms']:.1f}, greatest {first['greatest_ms']:.1f} ms")


if __name__ == "__main__":
    main()
