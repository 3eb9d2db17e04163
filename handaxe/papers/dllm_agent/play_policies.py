"""Rollouts of a sampling function, with forward passes, turns and malformed calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.records import Finish, Group, Sampling, Task, Trajectory
from handaxe.core.requests import Attempt, Completion, Sample
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.tool_calls import call_key
from handaxe.papers.dllm_agent.denoiser import Denoiser
from handaxe.papers.dllm_agent.unmasking import unmask_turns
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.worlds.world import World

__all__ = ["UnmaskedTurns", "play_policy"]

Turn = Callable[[Sample], Completion]


class UnmaskedTurns:
    """Samples the turns of a rollout by unmasking.

    Args:
        model: the policy.
        size: tokens of a block.
        threshold: least confidence of an unmasked token.
        aligned: attention of `span_mask`, else of `naive_mask`.

    Attributes:
        forwards: forward passes so far.

    Example:
        play_policy(UnmaskedTurns(model, size=10), world, tasks)

    Paper: arXiv:2602.07451 (DLLM Agent), the diffusion policy within the workflow of the autoregressive agent.
    Differs: the log-prob of a token is that at its unmasking.
    """

    def __init__(self, model: Denoiser, *, size: int, threshold: float = 0.9, aligned: bool = True):
        self._model = model
        self._size = size
        self._threshold = threshold
        self._aligned = aligned
        self.forwards = 0

    def __call__(self, request: Sample) -> Completion:
        """Decode the turn of a request; its `max_tokens` bounds the turn."""
        (turn,) = unmask_turns(
            self._model,
            [request.ids],
            size=self._size,
            stop=request.stop,
            threshold=self._threshold,
            most=request.sampling.max_tokens,
            aligned=self._aligned,
        )
        self.forwards += turn.forwards
        finish: Finish = "stop" if turn.stopped else "length"
        return Completion(turn.ids, turn.logp, turn.logp, [0] * len(turn.ids), finish)


def play_policy(
    turn: Turn, world: World, tasks: Sequence[Task], *, max_turns: int, max_tokens: int, context: int = 512
) -> dict[str, np.ndarray]:
    """Play each task once, greedily.

    Args:
        turn: samples a turn; with an attribute `forwards`, the count of its passes, else a pass a sampled token.
        world: of the tasks.
        tasks: N tasks.
        max_turns: of a rollout.
        max_tokens: of a turn.
        context: of a rollout.

    Returns:
        Figures [N]: correct; turns; calls, malformed ones included; malformed: calls that do not parse or that the tool
        rejects; repeats: calls equal to an earlier one; forwards.

    Example:
        play_policy(UnmaskedTurns(model, size=10), world, tasks, max_turns=5, max_tokens=20)["correct"].mean()

    Paper: arXiv:2602.07451 (DLLM Agent), accuracy, interaction rounds, tool calls and malformed calls.
    Differs: forward passes instead of seconds.
    """
    found = [_play(turn, world, task, max_turns, max_tokens, context) for task in tasks]
    return {name: np.array([one[name] for one in found], np.float64) for name in found[0]}


def _play(turn: Turn, world: World, task: Task, max_turns: int, max_tokens: int, context: int) -> dict[str, float]:
    attempt = Attempt(
        task=task,
        env=world.env(world.tools),
        format=Compact(),
        sampling=Sampling(temperature=0.0, max_tokens=max_tokens),
        id=task.id,
        sample=0,
        seed=0,
        context=context,
    )
    before = getattr(turn, "forwards", 0)
    plan = world.make_rollout(max_turns)(attempt)
    (one,) = run_plan(plan, sample=lambda name, request: turn(request))
    errors = sum(len(own.parsed.errors) for own in one.turns)
    failed = sum(reply.status != "ok" for reply in one.replies)
    repeats = len(one.calls) - len({call_key(call) for call in one.calls})
    return {
        "correct": float(world.correct(Group(task, (one,))).outcome[0] > 0.5),
        "turns": len(one.turns),
        "calls": errors + len(one.replies),
        "malformed": errors + failed,
        "repeats": repeats,
        "forwards": getattr(turn, "forwards", before + _sampled(one)) - before,
    }


def _sampled(one: Trajectory) -> int:
    return sum(int(sequence.mask.sum()) for sequence in one.sequences)
