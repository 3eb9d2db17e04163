"""Plays an attempt in which a function speaks in the policy's place: and the tools really answer."""

from __future__ import annotations

from typing import Any

from handaxe.core.protocols import ChatFormat, Env, EnvFactory, Rollout
from handaxe.core.records import Message, ParsedTurn, Sampling, Task, ToolSchema, Trajectory
from handaxe.core.requests import Attempt, Completion, EnvReply, Sample
from handaxe.envs.wrapped import Wrapped
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
    """Play one attempt at a task, each turn of which is what a function says in the state that is reached.

    It is played as a policy's attempt is: the same rollout, environment and chat format, so that ids and masks are
    those of a rollout. Log-probs are 0 and the version 0, since no policy wrote it: fit for SFT, not for a ratio.

    Args:
        env: made for this attempt, and closed.
        task: what is attempted.
        speaker: an expert, or any function (task, facts) -> Message.
        format: renders the conversation.
        id: of the trajectory.
        seed: of what tools draw.
        max_turns: after which the attempt ends truncated.
        context: most tokens of the sequence.
        rollout: how it is played, in the place of `linear` with `max_turns`.

    Raises:
        InputError: what the environment raises for a task it cannot take. Whatever the speaker raises is raised.

    Example:
        demonstrate(world.env(world.tools), task, world.expert, format=Compact()).final_text
    """
    heard = list[_Heard]()

    def listen(task: Task) -> Env:
        heard.append(_Heard(env(task)))
        return heard[-1]

    def speak(name: str, request: Sample) -> Completion:
        del name
        ids = format.encode_turn(speaker(task, heard[-1].facts(request.turn)), heard[-1].tools)
        zeros = [0.0] * len(ids)
        return Completion(ids, zeros, zeros, [0] * len(ids), "stop")

    attempt = Attempt(
        task=task,
        env=listen,
        format=format,
        sampling=Sampling(max_tokens=context),
        id=id,
        sample=0,
        seed=seed,
        context=context,
    )
    return run_plan((rollout or linear(max_turns=max_turns))(attempt), sample=speak)[0]


class _Heard(Wrapped):
    """An environment that remembers what it said last."""

    def __init__(self, env: Env):
        super().__init__(env)
        self.tools: tuple[ToolSchema, ...] = ()
        self._last = EnvReply()

    def facts(self, turn: int) -> dict[str, Any]:
        """The state as an expert is told of it."""
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
