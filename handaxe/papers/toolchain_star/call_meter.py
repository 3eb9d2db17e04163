"""Meter of a rollout: counts the use of all branches, and stops the rollout before a call beyond the budget."""

from __future__ import annotations

from collections.abc import Generator, MutableMapping
from dataclasses import dataclass
from typing import Any

from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.requests import Act, Attempt, Sample, Spawn, Stopped
from handaxe.papers.toolchain_star.frontier_search import step_calls

__all__ = ["CallMeter", "call_meter"]


@dataclass
class CallMeter:
    """Resources of one rollout, all branches included.

    turns, tokens    sampled
    calls            executed, malformed ones included
    refused          True once a call was refused
    """

    turns: int = 0
    tokens: int = 0
    calls: int = 0
    refused: bool = False


def call_meter(rollout: Rollout, *, calls: int, meters: MutableMapping[str, CallMeter]) -> Rollout:
    """Count the requests of a rollout, and stop the rollout at the first turn with more calls than are left.

    Sampled turns that no branch executes count as turns and tokens. The refused turn is not executed, nor is any later
    one: the rollout and its branches are stopped as a driver stops them.

    Args:
        rollout: any strategy.
        calls: budget of one rollout, over all its branches.
        meters: gets the meter of each rollout by the id of its attempt.

    Returns:
        The strategy under the meter.

    Example:
        a tree search of 3 + 3 calls with calls=4  ->  stopped after 4 calls; meters["t/0"].calls is 4

    Idea: strategies are comparable only at equal use, and a record holds no turn that was sampled and not executed.
    """

    def metered(attempt: Attempt) -> RolloutPlan:
        meter = meters[attempt.id] = CallMeter()
        return (yield from _relay(rollout(attempt), meter, calls))

    metered.branches = getattr(rollout, "branches", False)  # type: ignore[attr-defined]
    return metered


def _relay(plan: RolloutPlan, meter: CallMeter, calls: int) -> Generator[Any, Any, Any]:
    answer: Any = None
    error: Exception | None = None
    try:
        while True:
            request = plan.send(answer) if error is None else plan.throw(error)
            answer = error = None
            if isinstance(request, Act) and not _admits(request, meter, calls):
                error = Stopped()
                continue
            if isinstance(request, Spawn):
                request = request._replace(plans=tuple(_relay(one, meter, calls) for one in request.plans))
            try:
                answer = yield request
            except Exception as raised:
                error = raised
            if isinstance(request, Sample) and error is None:
                meter.turns += 1
                meter.tokens += len(answer.ids)
            if isinstance(request, Spawn) and error is None and meter.refused:
                error = Stopped(spawned=answer)
    except StopIteration as over:
        return over.value
    finally:
        plan.close()


def _admits(request: Act, meter: CallMeter, calls: int) -> bool:
    """Count the calls of a turn, unless a call was refused before or the turn has too many."""
    meter.refused = meter.refused or step_calls(request.turn) > calls - meter.calls
    meter.calls += 0 if meter.refused else step_calls(request.turn)
    return not meter.refused
