"""Execution of one plan in the calling thread, without a driver, for tests and replays."""

from collections.abc import Callable
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import RolloutPlan
from handaxe.core.records import Trajectory
from handaxe.core.requests import Act, Completion, EnvReply, Measure, Sample, Spawn, Stopped, Work

__all__ = ["do_act", "do_work", "no_measure", "run_plan"]


def do_act(name: str, request: Act) -> EnvReply:
    """Call the environment."""
    del name
    return request.env.step(request.turn, seed=request.seed)


def do_work(name: str, request: Work) -> Any:
    """Call the work."""
    del name
    return request.call()


def no_measure(name: str, request: Measure) -> dict[str, list[float]]:
    """Raise InputError: no model is available."""
    raise InputError(f"attempt {name} measures {', '.join(request.names)}: play it with measure=")


def run_plan(
    plan: RolloutPlan,
    *,
    sample: Callable[[str, Sample], Completion],
    act: Callable[[str, Act], EnvReply] = do_act,
    work: Callable[[str, Work], Any] = do_work,
    measure: Callable[[str, Measure], dict[str, list[float]]] = no_measure,
    name: str = "",
) -> list[Trajectory]:
    """Play a plan to its end, one request at a time; spawned plans run in order.

    Args:
        plan: the plan; it is closed in every case.
        sample, act, work, measure: answer a request of the named plan. Their exceptions are raised in the plan at the
            yield, so `raise Stopped(partial)` stops it there.
        name: of the plan; spawned plans have the names of their Spawn.

    Returns:
        The plan's return value. A plan is also stopped when a trajectory that it spawned was.

    Example:
        run_plan(linear()(attempt), sample=lambda name, request: engine.sample([request])[0])

    Idea: a generator needs only a loop that answers it.
    """
    answer: Any = None
    error: Exception | None = None
    try:
        while True:
            request = plan.send(answer) if error is None else plan.throw(error)
            answer, error = None, None
            if isinstance(request, Spawn):
                pairs = zip(request.plans, request.ids, strict=True)
                found = [
                    run_plan(one, sample=sample, act=act, work=work, measure=measure, name=id) for one, id in pairs
                ]
                if any(t.ending.reason == "stopped" for returned in found for t in returned):
                    error = Stopped(spawned=found)
                answer = found
                continue
            try:
                if isinstance(request, Sample):
                    answer = sample(name, request)
                elif isinstance(request, Measure):
                    answer = measure(name, request)
                else:
                    answer = act(name, request) if isinstance(request, Act) else work(name, request)
            except Exception as raised:
                error = raised
    except StopIteration as stop:
        return stop.value
    finally:
        plan.close()
