"""Crome (arXiv:2506.16507): reward models that learn from causal and neutral pairs, and resist a spurious style."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from handaxe import losses
from handaxe.evaluation.policy_rollouts import HELD_OUT, policy_rollouts
from handaxe.evaluation.preference_model import preference_model
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import column_figures
from handaxe.papers.crome.augmented_pairs import augment, unsure_pairs
from handaxe.papers.crome.style_figures import style_figures
from handaxe.papers.crome.styled_answers import STYLES, numeric_answers, styled_answers, task_preferences
from handaxe.worlds.arithmetic import arithmetic

__all__ = ["crome"]

MODELS: Mapping[str, tuple[bool, bool]] = {
    "vanilla": (False, False), "causal": (True, False), "neutral": (False, True), "crome": (True, True)
}  # fmt: skip
"""Reward model -> learns from causal pairs, from neutral pairs."""
GAINS = {
    f"gain/{style}/{name}": (f"pair/{style}/crome", f"pair/{style}/{name}")
    for style in STYLES
    for name in MODELS
    if name != "crome"
}


def crome(
    *,
    seeds: int = 4,
    tasks: int = 20,
    samples: int = 6,
    held_out: int = 24,
    most: int = 3,
    presented: int = 300,
    learning_rate: float = 1e-3,
    threshold: float = 0.8,
) -> StudyFunction:
    """Fit reward models on preferences with a spurious style, and test them where the style is absent or reversed.

    Rollouts of the packaged policy in `arithmetic` answer with a number. In training data, most correct answers and few
    wrong ones are put in a sentence.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        pair/STYLE/MODEL   share of held-out pairs of a correct and a wrong answer in the order of the scores
        best/STYLE/MODEL   share of tasks with a correct answer of the greatest score;  best/random of a random one
        gap/MODEL          score of an answer in a sentence less that of the number alone, over the standard deviation
                           of all scores
        gain/STYLE/MODEL   pair of crome less that of the model
        pairs/KIND         pairs that crome learns from: preferences, causal, neutral

    Models: vanilla (preferences alone), causal, neutral, crome (both augmentations).

    Args:
        seeds: draws of training and held-out tasks, from the study's seed on.
        tasks: training tasks of a seed.
        samples: rollouts of a task.
        held_out: tasks of a seed that measure.
        most: preferences of a task at most.
        presented: pairs that a fit presents, in whole passes: models with fewer pairs take more passes.
        learning_rate: of a fit.
        threshold: see `unsure_pairs`.

    Example:
        pair 0.9 of crome and 0.6 of vanilla with the reversed style  ->  gain/reversed/vanilla 0.3

    Paper: arXiv:2506.16507 (Crome), robustness to spurious attributes, and best of n.
    Differs: the attribute, its rewrites and the style are rules; the paper asks a language model.
    """

    both = {"pairs": (1.0, losses.preference.bradley_terry()), "ties": (1.0, losses.preference.neutral())}
    fitted = partial(
        preference_model,
        presented=presented,
        learning_rate=learning_rate,
        loss=losses.preference.summed(losses=both),
    )

    def measure(seed: int) -> dict[str, float]:
        play = policy_rollouts(arithmetic())
        columns: dict[str, list[float]] = {}
        for number in range(seed, seed + seeds):
            given = [numeric_answers(one) for one in play("train", tasks=tasks, samples=samples, seed=number)]
            given = styled_answers(given, "aligned", play.format, number)
            tested = [
                numeric_answers(one) for one in play("test", tasks=held_out, samples=samples, seed=HELD_OUT + number)
            ]
            data = {"preferences": task_preferences(given, most)}
            vanilla = fitted(play.engine, data["preferences"])
            found = augment(data["preferences"], [group.task for group, _ in given], format=play.format, seed=number)
            data |= {name: unsure_pairs(own, vanilla, most=threshold) for name, own in found._asdict().items()}
            views = {style: styled_answers(tested, style, play.format, number) for style in STYLES}
            for name, (causal, neutral) in MODELS.items():
                pairs = data["preferences"] + data["causal"] * causal + data["neutral"] * neutral
                model = vanilla if name == "vanilla" else fitted(play.engine, pairs)
                for key, value in style_figures(model, views, tested, play.format).items():
                    if "MODEL" in key or name == "vanilla":  # a seed counts once
                        columns.setdefault(key.replace("MODEL", name), []).append(value)
            for kind, own in data.items():
                columns.setdefault(f"pairs/{kind}", []).append(float(len(own)))
        falls = np.abs(columns["gap/vanilla"]) - np.abs(columns["gap/crome"])
        return column_figures({**columns, "gap_fall": falls}, GAINS)

    return measure
