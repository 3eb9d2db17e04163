"""MUA-RL: a simulated user inside the rollout, who is another one in every attempt; only the end is rewarded."""

from handaxe.methods.method import Method, replace
from handaxe.papers.mua_rl.sample_metadata import sample_metadata
from handaxe.papers.mua_rl.state_and_outputs import state_and_outputs

__all__ = ["mua_rl"]


def mua_rl(base: Method, *, users: tuple[str, ...] = ("plain", "easy")) -> Method:
    """Train with a user drawn for each attempt, on the final state and on what the user was told.

    Args:
        users: personas of which one is drawn; in the paper a language model varies by its sampling.
    """
    return replace(base, rollout=sample_metadata(base.rollout, key="persona", among=users), reward=state_and_outputs())
