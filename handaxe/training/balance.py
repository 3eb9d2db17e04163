"""Which replica goes on with which attempt: by weight, and where its cache lies."""

from collections.abc import Sequence as List

from handaxe.errors import InputError

__all__ = ["assign", "prefix_weight"]


def prefix_weight(tokens: int, *, unit: int = 1024) -> float:
    """What a request weighs by the prefix that must be read or kept for it: 1 + tokens / unit.

    Args:
        tokens: of the prefix, >= 0.
        unit: tokens that weigh as much as the request itself, >= 1.

    Example:
        prefix_weight(2048) -> 3.0

    Paper: AgentMath, arXiv:2512.20745. Unconfirmed: the form and the unit are a guess.
    """
    if tokens < 0 or unit < 1:
        raise InputError(f"a prefix of {tokens} tokens in units of {unit}: give 0 or more, in units of 1 or more")
    return 1 + tokens / unit


def assign(
    weights: List[float], replicas: int, *, home: List[int | None] | None = None, slack: float = float("inf")
) -> list[int]:
    """Send each request, in order, to the replica with the least weight; one with a cache goes home to it.

        r(k) = home(k)                where load(home(k)) <= min load + slack
        r(k) = argmin load            elsewhere; among equals the first

    Args:
        weights: of the requests, > 0; see `prefix_weight`.
        replicas: how many there are, >= 1.
        home: for each request the replica that holds its cache, or None.
        slack: how much fuller than the emptiest a home may be, >= 0, in units of weight.

    Returns:
        For each request the index of its replica.

    Raises:
        InputError: no replica, a home that is none, a weight that is not positive, lengths that differ.

    Example:
        weights 5, 4, 3, 3 on 2 replicas -> 0, 1, 1, 0, with loads 8 and 7

    Paper: AgentMath, arXiv:2512.20745, prefix-aware weighted balancing. Unconfirmed: `slack`; the paper says sticky.
    """
    homes = [None] * len(weights) if home is None else list(home)
    if replicas < 1 or len(homes) != len(weights) or slack < 0 or not all(weight > 0 for weight in weights):
        raise InputError(
            f"{len(weights)} weights, {len(homes)} homes, {replicas} replicas, slack {slack}: give one home a weight, "
            "weights above 0, at least one replica and a slack of at least 0"
        )
    if any(place is not None and not 0 <= place < replicas for place in homes):
        raise InputError(f"a home in {homes} is none of the {replicas} replicas")
    loads, out = [0.0] * replicas, []
    for weight, place in zip(weights, homes, strict=True):
        least = min(loads)
        chosen = loads.index(least) if place is None or loads[place] > least + slack else place
        loads[chosen] += weight
        out.append(chosen)
    return out
