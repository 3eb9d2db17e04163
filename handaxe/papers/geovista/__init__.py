"""GeoVista (arXiv:2511.15705): reward the finest correct level of a location, city, state or country."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.geovista.places import is_partly_right, level_reward

__all__ = ["geovista"]


def geovista(base: Method, *, beta: float = 2.0) -> Method:
    """Reward the correct country with 1, the state with beta and the city with beta squared.

    Channel "partial" has the share of rollouts whose reward lies between none and the city's.

    Args:
        beta: factor between the rewards of two levels; 2 in the paper, which gives 1, 2 and 4.
    """
    partial = rewards.outcome(lambda one: float(is_partly_right(one)))
    levels = rewards.weighted({"level": (1.0, level_reward(beta=beta)), "partial": (0.0, partial)})
    return replace(base, reward=levels)
