"""Environment wrapper: replaces a share of the tool replies by noise."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import ParsedTurn, Task
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.ops.seeds import generator
from handaxe.tools.deadline import Threads

__all__ = ["is_noise", "noisy_replies"]

SIGNS = tuple(chr(0x2580 + k) for k in range(32))
"""Block elements of Unicode; no question, answer or tool of this package contains them."""


def noisy_replies(env: EnvFactory, *, share: float = 0.2, length: int = 16) -> EnvFactory:
    """Replace a share of tool replies by noise.

        each tool reply, with probability `share`, drawn from the seed of the step: status failed, and `length` random
        signs instead of its text and images

    The call itself is carried out: its effects, cost and seconds remain. Replies with status infra_error are unchanged.
    The noise of a rollout is reproducible.

    Args:
        env: environment factory inside.
        share: of tool replies, from 0 (no noise) to 1.
        length: signs of a noisy reply, >= 1.

    Returns:
        An EnvFactory, bounded as `env` is.

    Raises:
        InputError: a number out of range.

    Example:
        noisy_replies(tool_chat([calculator]), share=1.0): every reply has 16 signs such as chr(0x2593)

    Idea: replies far from the training distribution make the following turns improbable; arXiv:2509.02479 (SimpleTIR)
    finds large gradients at improbable turns.
    """
    if not 0 <= share <= 1 or length < 1:
        raise InputError(f"noisy_replies has share={share} and length={length}; give 0 to 1, and 1 or more")
    return inherit_bound(lambda task: _Noisy(env(task), task, share, length), env)


def is_noise(text: str) -> bool:
    """Test whether a reply comes from `noisy_replies`."""
    return bool(text) and set(text) <= set(SIGNS)


class _Noisy(AsyncEnvWrapper):
    def __init__(self, env: Env, task: Task, share: float, length: int):
        super().__init__(env)
        self.task = task
        self.share = share
        self.length = length

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return self._add_noise(super().step(turn, seed=seed), seed)

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        return self._add_noise(await super().astep(turn, seed=seed, threads=threads), seed)

    def _add_noise(self, reply: EnvReply, seed: int) -> EnvReply:
        rng = generator("noisy_replies", seed)
        noise = dict[str, str]()
        replies = []
        for tool_reply in reply.replies:
            noisy = rng.random() < self.share and tool_reply.status != "infra_error"
            if noisy:
                noise[tool_reply.call_id] = "".join(rng.choice(SIGNS, self.length))
                tool_reply = replace(tool_reply, content=noise[tool_reply.call_id], status="failed", images=())
            replies.append(tool_reply)
        messages = tuple(
            replace(message, content=noise[message.call_id], images=())
            if message.role == "tool" and message.call_id in noise
            else message
            for message in reply.messages
        )
        return reply._replace(messages=messages, replies=tuple(replies))
