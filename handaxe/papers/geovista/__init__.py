"""GeoVista: the right city is worth most, but the right state and the right country are worth something too."""

from handaxe.methods.method import Method, replace
from handaxe.papers.geovista.alignment import alignment
from handaxe.papers.geovista.places import city_of, levels_right
from handaxe.papers.geovista.query_leak import query_leak
from handaxe.rewards.weighted import weighted

__all__ = ["geovista"]


def geovista(base: Method, *, beta: float = 2.0, leak_weight: float = 0.0, align_weight: float = 0.0) -> Method:
    """Train on 4 for the right city, 2 for the right state and 1 for the right country, by beta.

    Args:
        beta: how much a level more is worth; 2 in the paper.
        leak_weight: of the penalty for queries that hold the city already; 1 in a variant of the released code.
        align_weight: of 1 where a search found the city and it is said, and -1 where another is; 1 in that variant.
    """
    levels, leaks = levels_right(beta=beta), query_leak(answers=city_of)
    found = alignment(correct=base.reward, answers=city_of)
    parts = {"levels": (1.0, levels), "leaks": (leak_weight, leaks), "alignment": (align_weight, found)}
    return replace(base, reward=weighted(parts))
