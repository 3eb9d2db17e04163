"""PORTool (arXiv:2510.26020): sample a tree of turns, and compare each turn with forks and whole rollouts."""

from handaxe import credit
from handaxe.methods.method import Method, replace
from handaxe.papers.portool.shared_steps import shared_steps
from handaxe.papers.portool.tree import tree

__all__ = ["portool"]


def portool(base: Method, *, leaves: int = 8, max_forks: int = 2, gamma: float = 0.95) -> Method:
    """Train on the turns of a tree; one rollout is a whole group.

    Args:
        leaves: trajectories of a question. Unconfirmed.
        max_forks: maximum number of next turns kept after a turn. Unconfirmed.
        gamma: discount per turn. Unconfirmed.
    """
    whole, fork = credit.group_norm(channel="steps"), credit.fork_norm(channel="step")
    return replace(
        base,
        rollout=tree(total=leaves, fork_most=max_forks, max_turns=base.settings.max_turns),
        reward=shared_steps(base=base.reward, gamma=gamma),
        credit=credit.total({"all": (1.0, whole), "fork": (1.0, fork)}),
    )
