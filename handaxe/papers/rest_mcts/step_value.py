"""Quality value of a partial solution after another step."""

from handaxe.core.errors import InputError

__all__ = ["step_value"]


def step_value(previous: float, *, distance: int, wrong: bool) -> float:
    """Return the quality value v_k of a partial solution from the value before its last step.

        w_k = (1 - v_{k-1}) / (m_k + 1) * (1 - 2 r_k)        v_k = max(v_{k-1} + w_k, 0)        v_0 = 0

    A correct step closes the gap to 1 in equal parts: after the last step of a correct solution v = 1. A wrong step
    loses as much.

    Args:
        previous: v_{k-1}, 0 to 1.
        distance: m_k, fewest further steps to a correct answer, >= 0.
        wrong: r_k = 1.

    Returns:
        v_k, 0 to 1.

    Raises:
        InputError: a number out of range.

    Example:
        a correct solution of three steps: 1/3, then 1/3 + (2/3)/2 = 2/3, then 1
        a wrong step after the first one, with distance 2: 1/3 - (2/3)/3 = 1/9

    Paper: arXiv:2406.03816 (ReST-MCTS*), quality value and weighted reward.
    Differs: r_k is 0 or 1; the paper allows a correctness between both.
    """
    if not 0 <= previous <= 1 or distance < 0:
        raise InputError(f"step_value takes previous from 0 to 1 and distance from 0, not {previous} and {distance}")
    sign = -1.0 if wrong else 1.0
    return max(previous + sign * (1 - previous) / (distance + 1), 0.0)
