"""What a judge says of steps as good and bad, with what it left open decided by the outcome.

Example:
    judge (0.8, 0, -0.1) of a right attempt  ->  (1, 1, -1);  of a wrong one  ->  (1, -1, -1)

Idea: a step that the judge says nothing about is as good as the outcome of its attempt.
"""

from collections.abc import Sequence

import numpy as np

__all__ = ["step_signs"]


def step_signs(said: Sequence[np.ndarray], right_G: np.ndarray) -> list[np.ndarray]:
    """[N_i] of 1 and -1 a sibling: the sign of each label; that of the outcome where the label is 0.

    Args:
        said: labels of turns, [N_i] a sibling.
        right_G: [G] bool, whether the attempt is right.
    """
    return [np.where(own == 0, 1.0 if right else -1.0, np.sign(own)) for own, right in zip(said, right_G, strict=True)]
