"""The bare simulator of `toolbox`: searches and calls of the full catalogue, without handaxe's loop.

python bench/simulators/toolbox.py      searches and calls a second
"""

from __future__ import annotations

import time

from handaxe.worlds.toolbox.catalogue import full_catalogue
from handaxe.worlds.toolbox.questions import full_tasks

TASKS = 32


def steps(seconds: float) -> tuple[int, float]:
    """Find and call the tools of chains of five for about this long: (searches and calls, seconds taken)."""
    catalogue = full_catalogue()
    made = full_tasks(catalogue, kind="chain", lengths=(5,), results=5, split="test", count=TASKS, seed=0)
    gold = [step for task in made for step in task.metadata["steps"]]
    number, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        step = gold[number % len(gold)]
        assert catalogue.find(step["query"], 5)
        assert catalogue.call(step["name"], step["arguments"]).status == "ok"
        number += 1
    return 2 * number, time.perf_counter() - begun


if __name__ == "__main__":
    number, took = steps(2.0)
    print(f"{number / took:.0f} steps a second")
