"""Any environment, of which a share of tool replies is lost in noise that no policy has read before."""

from __future__ import annotations

from dataclasses import replace

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import ParsedTurn, Task
from handaxe.core.requests import EnvReply
from handaxe.envs.bounded_as import bounded_as
from handaxe.envs.wrapped import AsyncWrapped
from handaxe.ops.seeds import generator
from handaxe.tools.deadline import Threads

__all__ = ["is_noise", "noisy_replies"]

SIGNS = tuple(chr(0x2580 + k) for k in range(32))
"""Blocks and shades, which no question, answer or tool of this package holds."""


def noisy_replies(env: EnvFactory, *, share: float = 0.2, length: int = 16) -> EnvFactory:
    """Make an environment that answers as `env` does, and garbles a share of what its tools reply.

        each tool reply, with chance `share`, drawn from the seed of the step: status failed, and `length` random signs
        in the place of its text

    The call itself was carried out: its effects, cost and seconds stay. Replies of infra_error are left alone. The same
    attempt meets the same noise.

    Args:
        env: what answers.
        share: of tool replies, from 0, which changes nothing, to 1.
        length: signs of a garbled reply, >= 1.

    Returns:
        An EnvFactory, `slots.Bounded` where `env` is.

    Raises:
        InputError: a number out of range.

    Example:
        noisy_replies(tool_chat([calculator]), share=1.0): every call is met with 16 signs such as chr(0x2593)

    Idea: replies far from what a policy has learnt make the turns after them unlikely ones, which arXiv:2509.02479
    (SimpleTIR) finds behind large gradients.
    """
    if not 0 <= share <= 1 or length < 1:
        raise InputError(f"noisy_replies has share={share} and length={length}; give 0 to 1, and 1 or more")
    return bounded_as(lambda task: _Noisy(env(task), task, share, length), env)


def is_noise(text: str) -> bool:
    """Whether a reply is of `noisy_replies`."""
    return bool(text) and set(text) <= set(SIGNS)


class _Noisy(AsyncWrapped):
    def __init__(self, env: Env, task: Task, share: float, length: int):
        super().__init__(env)
        self.task = task
        self.share = share
        self.length = length

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        return self._garbled(super().step(turn, seed=seed), seed)

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        return self._garbled(await super().astep(turn, seed=seed, threads=threads), seed)

    def _garbled(self, reply: EnvReply, seed: int) -> EnvReply:
        draw = generator("noisy_replies", seed)
        texts = dict[str, str]()
        replies = []
        for one in reply.replies:
            hit = draw.random() < self.share and one.status != "infra_error"
            if hit:
                texts[one.call_id] = "".join(draw.choice(SIGNS, self.length))
            replies.append(replace(one, content=texts[one.call_id], status="failed") if hit else one)
        messages = tuple(
            replace(one, content=texts[one.call_id]) if one.role == "tool" and one.call_id in texts else one
            for one in reply.messages
        )
        return reply._replace(messages=messages, replies=tuple(replies))
