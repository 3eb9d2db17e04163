"""Latency of one call to a Python tool: a warm session, embedded and under bubblewrap, against a process per call.

A process per call is how VerlTool's `python_code` tool runs a program. It is measured twice: plain, and under the same
bubblewrap as the session, since a plain process is no sandbox. The four take turns in every round.

    python bench/sandbox.py --out results/sandbox.json
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
from pathlib import Path
from typing import Any

from handaxe.records import ToolCall
from handaxe.tools.cpython import cpython
from handaxe.tools.decorator import Tool
from handaxe.tools.python import python
from handaxe.tools.sandbox.command import find_bubblewrap
from handaxe.tools.sandbox.layout import layout_of

CODE = "print(2+3)"
GOALS = {"embedded": 30.0, "cpython": 5.0}


def session(tool: Tool) -> Callable[[], str]:
    """One more call of a warm session."""
    return lambda: tool.run(ToolCall("python", {"code": CODE}, "c0")).content


def process(words: list[str]) -> Callable[[], str]:
    """One more process that runs the code and ends."""
    return lambda: subprocess.run(
        [*words, "-c", CODE], capture_output=True, text=True, check=True, cwd=Path("/")
    ).stdout.strip()


def bubblewrap() -> list[str]:
    """A process per call under bubblewrap: the same mounts as the session's, without its limits."""
    layout = layout_of(None, ())
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
        time.sleep(0.3)  # as between two rollouts: the pool fills up meanwhile
        taken += measure(session(tool), 1)
        tool.owner.close()
    return {"median_ms": 1000 * statistics.median(taken), "greatest_ms": 1000 * max(taken)}


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--quick", action="store_true", help="few calls, to see that it works")
    options = parser.parse_args()
    rounds, calls, slow = (2, 20, 3) if options.quick else (5, 400, 40)
    embedded, full = python(), cpython(packages=())
    acts = {
        "embedded": (session(embedded), calls),
        "cpython": (session(full), calls),
        "process": (process([sys.executable]), slow),
        "process under bubblewrap": (process(bubblewrap()), slow),
    }
    taken: dict[str, list[list[float]]] = {name: [] for name in acts}
    for act, _ in acts.values():
        measure(act, 3)
    for _ in range(rounds):
        for name, (act, count) in acts.items():
            taken[name].append(measure(act, count))
    result = {name: summary(rounds) for name, rounds in taken.items()}
    base = result["process"]["median_ms"]
    factors = {name: base / result[name]["median_ms"] for name in GOALS}
    full.owner.close()
    report = {
        "command": " ".join(["python", "bench/sandbox.py", *(["--quick"] if options.quick else [])]),
        "machine": {"python": platform.python_version(), "processors": os.cpu_count(), "system": platform.release()},
        "code": CODE,
        "rounds": rounds,
        "calls": result,
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
    first = report["first_call_of_a_session"]
    print(f"first call of a CPython session: median {first['median_ms']:.1f}, greatest {first['greatest_ms']:.1f} ms")


if __name__ == "__main__":
    main()
