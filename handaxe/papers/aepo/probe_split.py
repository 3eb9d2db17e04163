"""Division of a question's trajectories into starts and branches, decided by a probe trajectory."""

from math import exp, floor

from handaxe.rollouts.branching import Split

__all__ = ["probe_split"]


def probe_split(*, slope: float = 0.5) -> Split:
    """Start more trajectories from the question if its first turn is uncertain; branch more if turns after tools are.

        m = clip(floor(k * sigmoid(slope * (H_root - H_tool))) + 1, 1, k)        the other k - m are branches

    H_root is the entropy of the first turn of the probe trajectory, H_tool the mean entropy of its turns after tool
    results. Without such a turn the difference is 0.

    Args:
        slope: b, >= 0, per nat; 0.5 in the released code.

    Returns:
        (H_root, H_tool or None, k) -> m, for `branching(from_start=...)`.

    Example:
        k 16: H_root - H_tool = 1 -> floor(9.959) + 1 = 10; 0 -> 9; -4 -> floor(1.907) + 1 = 2

    Paper: AEPO, arXiv:2510.14545, rollout pre-monitoring: m = k * sigmoid(beta * (H_root - H_tool)).
    Differs: rounded as in the released code. The probe trajectory is one of the m. The released code sums entropies of
        the ten likeliest tokens over 20 positions and divides by log |V|, so that a mean of 1 nat counts as 1.68 for
        |V| = 150,000; its H_tool averages over all turns, the first included.
    Unconfirmed: the paper's beta; 0.5 is the released code's.
    """

    def split(root: float, after: float | None, total: int) -> int:
        difference = 0.0 if after is None else root - after
        share = 1 / (1 + exp(-max(-700.0, min(700.0, slope * difference))))
        return min(max(floor(total * share) + 1, 1), total)

    return split
