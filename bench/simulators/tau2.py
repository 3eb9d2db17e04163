"""Bare retail shop of tau2, with reference calls."""

import time

__all__ = ["steps"]


def steps(seconds: float) -> tuple[int, float]:
    """Execute reference calls of retail for about `seconds`, with new databases per task; (calls, seconds)."""
    from handaxe.worlds.tau2.domains import package
    from handaxe.worlds.tau2.state import gold_actions

    shop = package("retail")
    plans = [gold_actions("retail", one) for one in shop.raw]
    made, begun = 0, time.perf_counter()
    while True:
        for plan in plans:
            kit = shop.new().tools
            for call in plan:
                try:
                    kit.use_tool(call.name, **call.arguments)
                except Exception:  # some reference calls are rejected
                    continue
                finally:
                    made += 1
            if time.perf_counter() - begun > seconds:
                return made, time.perf_counter() - begun
