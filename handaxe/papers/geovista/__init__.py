"""GeoVista (arXiv:2511.15705): reward the finest correct level of a location, city, state or country."""

from handaxe.methods.method import Method, replace
from handaxe.papers.geovista.places import level_reward

__all__ = ["geovista"]


def geovista(base: Method, *, beta: float = 2.0) -> Method:
    """Reward the correct country with 1, the state with beta and the city with beta squared.

    Args:
        beta: factor between the rewards of two levels; 2 in the paper, which gives 1, 2 and 4.
    """
    return replace(base, reward=level_reward(beta=beta))
