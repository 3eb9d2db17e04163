"""Runs many rollouts at once: one batched `engine.sample` for all who speak, a pool for all who act."""

from collections.abc import Callable
from collections.abc import Sequence as List
from concurrent.futures import ThreadPoolExecutor

from handaxe.records import Ending, Trajectory
from handaxe.slots import Act, Attempt, Completion, Engine, EnvReply, Rollout, RolloutPlan, Sample, Work

__all__ = ["run"]


def run(
    attempts: List[Attempt],
    rollout: Rollout,
    engine: Engine,
    *,
    workers: int = 8,
    progress: Callable[[int], None] | None = None,
) -> list[list[Trajectory]]:
    """Play every attempt to its end.

    Rounds: everybody who waits to speak is sampled in one batch, in the order of `attempts`, then everybody who
    waits to act acts, `workers` at a time. So which rows share a batch never depends on how long a tool took, and
    the result is the same for any number of workers.

    Args:
        attempts: what to play.
        rollout: the strategy, `slots.Rollout`.
        engine: who samples.
        workers: environments that act at the same time.
        progress: called with the number of attempts that are over, whenever it changes.

    Returns:
        For each attempt the trajectories it yielded, in order. An exception inside an environment ends its own
        attempt as infra_error; an exception of the engine closes every attempt and is raised.
    """
    live = [_Live(rollout(attempt)) for attempt in attempts]
    over = 0
    try:
        for one in live:
            one.advance(None)
        with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
            while any(one.request for one in live):
                acting = [(one, pool.submit(_act, one.request)) for one in live if isinstance(one.request, Act)]
                speaking = [(one, one.request) for one in live if isinstance(one.request, Sample)]
                if speaking:
                    completions = engine.sample([request for _, request in speaking])
                    for (one, _), completion in zip(speaking, completions, strict=True):
                        one.advance(completion)
                for one, answer in acting:
                    one.advance(answer.result())
                now = sum(one.request is None for one in live)
                if progress and now != over:
                    progress(now)
                over = now
    finally:
        for one in live:
            one.plan.close()
    return [one.result for one in live]


class _Live:
    """One rollout at work: the request it waits on, or its result."""

    def __init__(self, plan: RolloutPlan):
        self.plan = plan
        self.request: Sample | Act | Work | None = None
        self.result: list[Trajectory] = []

    def advance(self, answer: Completion | EnvReply | None) -> None:
        try:
            self.request = next(self.plan) if answer is None else self.plan.send(answer)
        except StopIteration as stop:
            self.request, self.result = None, stop.value


def _act(request: Act) -> EnvReply:
    try:
        return request.env.step(request.turn, seed=request.seed)
    except Exception as error:  # whatever an environment dies of, it is not the policy's fault
        return EnvReply(done=True, ending=Ending("infra_error", f"{type(error).__name__}: {error}"))
