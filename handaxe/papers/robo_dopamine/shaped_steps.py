"""Rewards of turns from progress: policy-invariant shaping, and the level form that it replaces."""

from typing import Literal

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["ProgressForm", "progress_rewards"]

ProgressForm = Literal["shaping", "level", "none"]


def progress_rewards(progress_N1: np.ndarray, *, form: ProgressForm = "shaping", gamma: float = 0.99) -> np.ndarray:
    """Compute the reward of each turn from the progress before and after.

        shaping   F_n = gamma * Phi_{n+1} - Phi_n
        level     F_n = Phi_{n+1}
        none      F_n = 0

    The discounted sum of the shaping telescopes to gamma^N Phi_N - Phi_0, so that no detour earns more than the direct
    way. With rollouts that end, equal optimal policies also need an equal Phi_N at all ends. The level pays again and
    again for a state of high progress: the semantic trap.

    Args:
        progress_N1: Phi before the first and after each of N turns, [N + 1].
        form: of the reward; the paper has shaping.
        gamma: discount per turn, in (0, 1], equal to that of the credit.

    Returns:
        [N] rewards, to be added to the outcome of the task at the last turn.

    Raises:
        InputError: no progress, a progress that is not finite, an unknown form, or gamma out of range.

    Example:
        Phi 0.4 then 0.7, gamma 0.99  ->  shaping 0.99 * 0.7 - 0.4 = 0.293, level 0.7

    Paper: arXiv:2512.23703 (Robo-Dopamine), policy-invariant reward shaping.
    Differs: the paper's sign for the level is a plain progress added to the reward; here it is the state's progress.
    """
    progress_N1 = np.asarray(progress_N1, np.float64)
    if progress_N1.ndim != 1 or not len(progress_N1) or not np.isfinite(progress_N1).all():
        raise InputError(f"progress has shape {progress_N1.shape}; give a finite number before and after each turn")
    if form not in ("shaping", "level", "none") or not 0 < gamma <= 1:
        raise InputError(f"form is {form!r} and gamma {gamma}; give shaping, level or none, and a number in (0, 1]")
    if form == "shaping":
        return gamma * progress_N1[1:] - progress_N1[:-1]
    return progress_N1[1:] * (form == "level")
