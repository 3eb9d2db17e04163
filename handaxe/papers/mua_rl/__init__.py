"""MUA-RL (arXiv:2508.18669): simulate a user inside the rollout, and reward the final state only."""

from handaxe.methods.method import Method, replace
from handaxe.papers.mua_rl.sample_metadata import sample_metadata
from handaxe.papers.mua_rl.state_and_outputs import state_and_outputs

__all__ = ["mua_rl"]


def mua_rl(base: Method, *, user: str = "rule", users: tuple[str, ...] = ("plain", "easy")) -> Method:
    """Train with a user sampled per rollout, on the final database state and the required outputs.

    Args:
        user: who plays the user: rule, self, self@start, trained, a model, or http://HOST/v1#NAME; a language model in
            the paper.
        users: personas of the rule to sample from; a language model varies by its sampling.
    """
    rollout = sample_metadata(base.rollout, key="persona", among=users)
    return replace(base, aux_policies={"user": user}, rollout=rollout, reward=state_and_outputs())
