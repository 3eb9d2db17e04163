"""Rollouts with an expert in place of the policy; tools are executed."""

from __future__ import annotations

from typing import Any

from handaxe.core.protocols import ChatFormat, Env, EnvFactory, Rollout
from handaxe.core.records import Message, ParsedTurn, Sampling, Task, ToolSchema, Trajectory
from handaxe.core.requests import Attempt, Completion, EnvReply, Sample
from handaxe.envs.wrapper import EnvWrapper
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.worlds.world import Expert

__all__ = ["demonstrate"]


def demonstrate(
    env: EnvFactory,
    task: Task,
    speaker: Expert,
    *,
    format: ChatFormat,
    id: str = "demonstration",
    seed: int = 0,
    max_turns: int = 8,
    context: int = 1 << 20,
    rollout: Rollout | None = None,
) -> Trajectory:
    """Play a rollout with an expert's turns.

    Rollout strategy, environment and chat format are those of a policy's rollout, so that token ids and masks are
    equal. Log-probs are 0 and the version is 0: the trajectory is suited for SFT, not for importance ratios.

    Args:
        env: creates the rollout's environment, which is closed at the end.
        task: task of the rollout.
        speaker: an expert, or any function (task, facts) -> Message.
        format: renders the conversation.
        id: id of the trajectory.
        seed: seed of the tools.
        max_turns: turn limit; the rollout ends truncated there.
        context: token limit of the sequence.
        rollout: rollout strategy; None: `linear` with `max_turns`.

    Raises:
        InputError: the environment rejects the task. Errors of the speaker are raised unchanged.

    Example:
        demonstrate(world.env(world.tools), task, world.expert, format=Compact()).final_text
    """
    recorded = list[_RecordedEnv]()

    def recorded_env(task: Task) -> Env:
        recorded.append(_RecordedEnv(env(task)))
        return recorded[-1]

    def speak(name: str, request: Sample) -> Completion:
        del name
        ids = format.encode_turn(speaker(task, recorded[-1].facts(request.turn)), recorded[-1].tools)
        zeros = [0.0] * len(ids)
        return Completion(ids, zeros, zeros, [0] * len(ids), "stop")

    attempt = Attempt(
        task=task,
        env=recorded_env,
        format=format,
        sampling=Sampling(max_tokens=context),
        id=id,
        sample=0,
        seed=seed,
        context=context,
    )
    return run_plan((rollout or linear(max_turns=max_turns))(attempt), sample=speak)[0]


class _RecordedEnv(EnvWrapper):
    """Environment wrapper with a record of tools and last reply."""

    def __init__(self, env: Env):
        super().__init__(env)
        self.tools: tuple[ToolSchema, ...] = ()
        self._last = EnvReply()

    def facts(self, turn: int) -> dict[str, Any]:
        """The expert's view of the state."""
        replies = self._last.replies
        return {
            "turn": turn,
            "replies": [reply.content for reply in replies],
            "statuses": [reply.status for reply in replies],
            "tools": [tool.name for tool in self.tools],
            "sure": True,
            **self._last.facts,
        }

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        messages, self.tools = super().start()
        return messages, self.tools

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        self._last = super().step(turn, seed=seed)
        return self._last
