"""Labels of pairs by two models that err: self-consistency within a model, agreement between models."""

from __future__ import annotations

from collections.abc import Callable

from handaxe.core.errors import InputError
from handaxe.core.records import Pair
from handaxe.ops.seeds import generator
from handaxe.papers.skywork_reward_v2.curation import Labeller, flipped

__all__ = ["agreeing_labellers", "wild_order"]

Truth = Callable[[Pair], bool]
"""Whether the chosen side is the better one."""


def agreeing_labellers(
    truth: Truth, *, error: float = 0.3, samples: int = 3, models: int = 2, seed: int = 0
) -> Labeller:
    """Make a labeller of several models, each with a majority of its own answers.

        answer = truth, flipped with probability `error`, drawn by pair, model and sample; the same for both orders
        model  = majority of `samples` answers
        label  = that of the models if they agree, else None

    Args:
        truth: of a pair.
        error: of an answer, 0 to 1/2.
        samples: of a model, odd.
        models: 2 or more.
        seed: of the models.

    Returns:
        Pair -> labelled pair or None.

    Raises:
        InputError: a number out of range.

    Example:
        error 0.3 with 3 samples: a model errs with 0.216; of the labels by two agreeing models 0.0705 are wrong

    Paper: arXiv:2507.01352 (Skywork-Reward-V2), self-consistency and merge of the labels of several language models.
    Differs: models are the truth with errors; verified neighbours are not shown to them.
    """
    if not 0 <= error <= 0.5 or samples < 1 or samples % 2 == 0 or models < 1:
        raise InputError(f"give an error from 0 to 0.5, odd samples, 1 model or more: {error}, {samples}, {models}")

    def label(pair: Pair) -> Pair | None:
        names = sorted((pair.chosen.id, pair.rejected.id))
        wrong = set[bool]()
        for model in range(models):
            draws = generator("labeller", seed, model, *names).random(samples) < error
            wrong.add(bool(draws.sum() * 2 > samples))
        if len(wrong) > 1:
            return None
        right = pair if truth(pair) else flipped(pair)
        return flipped(right) if wrong.pop() else right

    return label


def wild_order(pair: Pair, truth: Truth, *, error: float, seed: int) -> Pair:
    """A pair in the order of an uncurated source, wrong with probability `error`.

    Args:
        pair: in any order.
        truth: of the pair.
        error: 0 to 1.
        seed: of the source.

    Returns:
        The pair in the given or exchanged order.

    Example:
        error 0: the better side first

    Idea: preference data from the wild have wrong labels.
    """
    right = pair if truth(pair) else flipped(pair)
    names = sorted((pair.chosen.id, pair.rejected.id))
    return flipped(right) if generator("wild", seed, *names).random() < error else right
