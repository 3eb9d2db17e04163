"""World `plates` for a policy in two roles: a solver that zooms and reads, and a verifier that does it again."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory, Rollout
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall, Trajectory
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import EnvWrapper
from handaxe.ops.seeds import derive_seed
from handaxe.papers.agent0_vl.two_roles import solver_answer, solver_steps, two_roles
from handaxe.rewards.answer_score import answer_score
from handaxe.worlds.plates.world import plates
from handaxe.worlds.world import DemonstrationNoise, Expert, Facts, Start, World

__all__ = ["checked_plates"]

START = Start(DemonstrationNoise(), skill=0, steps=80, batch_size=16, learning_rate=1e-3)
SURE, UNSURE = ".9", ".5"
"""Confidence of the expert in a correct step and in another one."""


def checked_plates(*, errors: float = 0.5) -> World:
    """The number on the red plate in two steps, a zoom and a reading, each checked by the policy as a verifier.

    Questions and tool are those of `plates(needed=1)`. Rollouts are those of `two_roles`. The expert takes a wrong step
    at the given rate, judges every step by a look of its own (a zoom for the reading), is sure of correct steps alone,
    and repairs wrong ones, so that its answers are correct.

    Args:
        errors: share of wrong first steps of the expert, 0 to 1.

    Returns:
        A world with the gauges repaired (share of accepted steps that were repaired), approved (share of rollouts whose
        answer has a score above 0) and approved_correct (share of the approved answers that are correct).

    Raises:
        InputError: errors out of range, and as for `plates`.

    Example:
        "red?": solver zoom "0 2 2 4"; verifier "check 0 2 2 4" -> "4 4 6 6 .5"; solver "again: 4 4 6 6" -> zoom
        "4 4 6 6"; verifier -> "4 4 6 6 .9"; solver "90"; verifier "check 90" -> zoom "4 4 6 6" -> "90 .9"

    Idea: steps and verification of Agent0-VL (arXiv:2511.19900) in the world of a tiny policy.
    """
    if not 0 <= errors <= 1:
        raise InputError(f"errors is {errors}; give a share of 0 to 1")
    inner = plates(needed=1.0)
    return replace(
        inner,
        name="checked_plates",
        env=lambda tools: _without_end(inner.env(tools)),
        correct=answer_score(scorer=lambda task, text: float(text == task.answer), extract=solver_answer),
        breakdown=(),
        is_answer=None,
        expert=_expert(errors),
        start=START,
        start_turns=12,
        rollout=_rollout,
        gauges=GAUGES,
    )


def _rollout(max_turns: int) -> Rollout:
    return two_roles(max_turns=max_turns)


class _WithoutEnd(EnvWrapper):
    """An answer ends nothing: the rollout has it verified."""

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return super().step(turn, seed=seed) if turn.calls or turn.errors else EnvReply()


def _without_end(env: EnvFactory) -> EnvFactory:
    def make(task: Task) -> Env:
        return _WithoutEnd(env(task))

    return inherit_bound(make, env)


def _expert(errors: float) -> Expert:
    def expert(task: Task, facts: Facts) -> Message:
        """Speak for both roles: the sequence of turns is known beforehand."""
        said = _script(task, errors)
        return said[min(int(facts["turn"]), len(said) - 1)]

    return expert


def _script(task: Task, errors: float) -> Sequence[Message]:
    """Turns of a whole rollout, of both roles."""
    rng = random.Random(derive_seed("checked plates", task.id))
    _, left, top, _, _ = rng.choice(task.metadata["plates"][1:])
    gold, wrong_box = (" ".join(map(str, box)) for box in (task.metadata["gold"], (left, top, left + 2, top + 2)))
    answer = str(task.answer)
    wrong = rng.choice([number for number in (f"{one:02d}" for one in range(100)) if number != answer])
    said = list[Message]()
    if rng.random() < errors:
        said += [_zoom(wrong_box), Message("assistant", f"{gold} {UNSURE}")]
    said += [_zoom(gold), Message("assistant", f"{gold} {SURE}")]
    if rng.random() < errors:
        said += [Message("assistant", wrong), _zoom(gold), Message("assistant", f"{answer} {UNSURE}")]
    return [*said, Message("assistant", answer), _zoom(gold), Message("assistant", f"{answer} {SURE}")]


def _zoom(box: str) -> Message:
    return Message("assistant", "", (ToolCall("zoom", {"box": box}),))


def _repaired(trajectory: Trajectory, outcome: float) -> float:
    del outcome
    return float(sum(len(step.verdicts) > 1 for step in solver_steps(trajectory)))


def _steps(trajectory: Trajectory, outcome: float) -> float:
    del outcome
    return float(len(solver_steps(trajectory)))


def _approved(trajectory: Trajectory, outcome: float) -> float:
    del outcome
    found: Sequence[Any] = solver_steps(trajectory)
    return float(bool(found) and found[-1].final and bool(found[-1].verdicts) and found[-1].verdicts[-1].score > 0)


def _approved_correct(trajectory: Trajectory, outcome: float) -> float:
    return _approved(trajectory, outcome) * float(solver_answer(trajectory) == trajectory.task.answer)


GAUGES = {
    "repaired": RatioMetric(_repaired, _steps),
    "approved": RatioMetric(_approved),
    "approved_correct": RatioMetric(_approved_correct, _approved),
}
"""Metrics of every evaluation."""
