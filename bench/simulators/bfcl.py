"""Bare simulators of BFCL, with the calls of the answers."""

import copy
import time
from typing import Any

__all__ = ["steps"]


def steps(seconds: float) -> tuple[int, float]:
    """Execute the calls of multi-turn answers for about `seconds`, in new simulators per question; (calls, seconds)."""
    from handaxe.worlds.bfcl.package import new_simulator, read_descriptions
    from handaxe.worlds.bfcl.tasks import all_tasks

    plans = [one.metadata for one in all_tasks("multi_turn_base")]
    made, begun = 0, time.perf_counter()
    while True:
        for plan in plans:
            methods: dict[str, Any] = {}
            for name in plan["classes"]:
                state = copy.deepcopy(plan["config"].get(name, {}))
                simulator = new_simulator(name, state, long_context=False)
                methods |= {one["name"]: getattr(simulator, one["name"]) for one in read_descriptions(name)}
            for call in (call for turn in plan["gold"] for call in turn):
                try:
                    methods[call["name"]](**call["arguments"])
                except Exception:  # some answers hold failing calls
                    continue
                finally:
                    made += 1
            if time.perf_counter() - begun > seconds:
                return made, time.perf_counter() - begun
