"""Labels, rewards and budgets of numbers of demonstrations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import InputError

__all__ = ["allocate_counts", "count_reward", "minimal_count"]


def minimal_count(accuracy_K: Sequence[float], *, threshold: float) -> int:
    """Return the smallest number of demonstrations with an accuracy above a threshold.

        k* = min {k: E over subsets of k examples [Acc(G(P + k examples))] > t}

    Args:
        accuracy_K: mean accuracy with k = 0, 1, ..., K examples.
        threshold: t, 0 to 1.

    Returns:
        k*; if no accuracy is above t, the smallest k of the largest accuracy.

    Raises:
        InputError: no accuracy.

    Example:
        accuracies 0.2, 0.6, 0.9 with t = 0.5  ->  1;  with t = 0.95  ->  2

    Paper: arXiv:2305.11170 (DynaICL), labels of the first stage.
    Unconfirmed: the label of a prompt that no number brings above t.
    """
    if not len(accuracy_K):
        raise InputError("minimal_count needs an accuracy for k = 0 at least")
    above = [k for k, accuracy in enumerate(accuracy_K) if accuracy > threshold]
    return above[0] if above else int(np.argmax(np.asarray(accuracy_K)))


def count_reward(accuracy: float, count: int, *, cost: float) -> float:
    """Compute the reward of a number of demonstrations.

        R(k | P) = Acc - alpha * k

    Args:
        accuracy: Acc, of one sample or a mean.
        count: k.
        cost: alpha, per demonstration, >= 0.

    Returns:
        R.

    Raises:
        InputError: a negative cost or count.

    Example:
        accuracy 1, k = 3, alpha = 0.1  ->  0.7

    Paper: arXiv:2305.11170 (DynaICL), reward of the second stage.
    Unconfirmed: the exact trade-off; the paper names a linear one with the weight alpha.
    """
    if cost < 0 or count < 0:
        raise InputError(f"a number of demonstrations and its cost are >= 0: {count}, {cost}")
    return accuracy - cost * count


def allocate_counts(
    predicted_P: Sequence[float], *, tokens: float, length: float, beta: float = 1.0, most: int | None = None
) -> list[int]:
    """Turn predicted numbers into numbers under a token budget.

        E(P) = round(beta * C(P) / mean(C) * N / (K * L))

    Args:
        predicted_P: C(P), of each of K prompts, >= 0.
        tokens: N, budget of all K prompts.
        length: L, mean tokens of a demonstration, > 0.
        beta: 0 to 1; a part below 1 keeps a reserve for rounding up.
        most: largest number of a prompt; None: no limit.

    Returns:
        E(P) per prompt; halves go to the even number. All 0 if all predictions are 0.

    Raises:
        InputError: no prompt, or a number out of range.

    Example:
        predictions 1, 2, 3 (mean 2) with N / (K L) = 4 and beta = 1  ->  2, 4, 6

    Paper: arXiv:2305.11170 (DynaICL), allocation at inference.
    Differs: an optional limit.
    """
    wanted_P = np.asarray(predicted_P, np.float64)
    if not len(wanted_P) or (wanted_P < 0).any() or length <= 0 or tokens < 0 or not 0 < beta <= 1:
        raise InputError(
            f"an allocation takes predictions >= 0 of 1 or more prompts, tokens >= 0, length > 0 and beta from 0 to 1: "
            f"{len(wanted_P)} prompts, {tokens}, {length}, {beta}"
        )
    mean = wanted_P.mean()
    if mean == 0:
        return [0] * len(wanted_P)
    count_P = np.rint(beta * wanted_P / mean * tokens / (len(wanted_P) * length)).astype(int)
    return [int(one) if most is None else min(int(one), most) for one in count_P]
