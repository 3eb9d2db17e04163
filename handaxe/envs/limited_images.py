"""Environment wrapper that ends a rollout whose replies show more images than allowed."""

from __future__ import annotations

from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Ending
from handaxe.core.requests import EnvReply
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.wrapper import AsyncEnvWrapper

__all__ = ["limited_images"]


def limited_images(env: EnvFactory, *, most: int) -> EnvFactory:
    """End a rollout at the reply with which the replies have more than `most` images.

    The reply is recorded, the policy does not read it, and the rollout ends truncated for "budget". An environment that
    ends the rollout with this reply keeps its own ending. Images of the task do not count.

    Args:
        env: environment factory inside.
        most: images of all replies, >= 0.

    Returns:
        An EnvFactory, bounded as `env` is.

    Raises:
        InputError: `most` is negative.

    Example:
        limited_images(tool_chat([zoom]), most=2) ends a rollout at its third image

    Idea: `rollouts.budget.Budget(images=)` for every rollout strategy, since the limit is in the environment.
    """
    if most < 0:
        raise InputError(f"limited_images has most={most}; give 0 or more")
    return inherit_bound(lambda task: _Limited(env(task), most), env)


class _Limited(AsyncEnvWrapper):
    def __init__(self, env: Env, most: int):
        super().__init__(env)
        self.most = most
        self.shown = 0

    def transform_reply(self, reply: EnvReply) -> EnvReply:
        self.shown += sum(len(message.images) for message in reply.messages)
        if self.shown <= self.most or reply.done:
            return reply
        return reply._replace(done=True, ending=Ending("truncated", "budget"))

    def snapshot(self) -> Any:
        return {"shown": self.shown, "env": super().snapshot()}

    def restore(self, state: Any) -> None:
        self.shown = state["shown"]
        super().restore(state["env"])
