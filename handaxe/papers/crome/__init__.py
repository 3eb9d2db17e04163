"""Crome (arXiv:2506.16507): reward models that learn from causal and neutral pairs, and resist a spurious style."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np

from handaxe import judges, losses
from handaxe.core.protocols import ChatFormat, Engine, Labelled
from handaxe.core.records import Group, Pair, Scores, Trajectory
from handaxe.evaluation.policy_rollouts import policy_rollouts
from handaxe.evaluation.rank_figures import rank_figures
from handaxe.judges.reward_model import RewardModel
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.crome.answer_rewrites import in_sentence, is_numeric, with_answer
from handaxe.papers.crome.augmented_pairs import augment, unsure_pairs
from handaxe.worlds.arithmetic import arithmetic

__all__ = ["crome"]

STYLES: Mapping[str, tuple[float, float]] = {"aligned": (0.9, 0.1), "plain": (0.0, 0.0), "reversed": (0.1, 0.9)}
"""Style -> share of correct and of wrong answers in a sentence. Training data are aligned."""
MODELS: Mapping[str, tuple[bool, bool]] = {
    "vanilla": (False, False), "causal": (True, False), "neutral": (False, True), "crome": (True, True)
}  # fmt: skip
"""Reward model -> learns from causal pairs, from neutral pairs."""
HELD_OUT = 1_000_000
"""Added to the seed of held-out rollouts."""


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

    def measure(seed: int) -> dict[str, float]:
        play = policy_rollouts(arithmetic())
        columns: dict[str, list[float]] = {}
        for number in range(seed, seed + seeds):
            given = [_numeric(one) for one in play("train", tasks=tasks, samples=samples, seed=number)]
            given = _styled(given, "aligned", play.format, number)
            tested = [_numeric(one) for one in play("test", tasks=held_out, samples=samples, seed=HELD_OUT + number)]
            data = {"preferences": _preferences(given, most)}
            vanilla = _fitted(play.engine, data["preferences"], presented, learning_rate)
            found = augment(data["preferences"], [group.task for group, _ in given], format=play.format, seed=number)
            data |= {name: unsure_pairs(own, vanilla, most=threshold) for name, own in found._asdict().items()}
            views = {style: _styled(tested, style, play.format, number) for style in STYLES}
            for name, (causal, neutral) in MODELS.items():
                pairs = data["preferences"] + data["causal"] * causal + data["neutral"] * neutral
                model = vanilla if name == "vanilla" else _fitted(play.engine, pairs, presented, learning_rate)
                for key, value in _measured(model, views, tested, play.format).items():
                    columns.setdefault(key.replace("MODEL", name), []).append(value)
            for kind, own in data.items():
                columns.setdefault(f"pairs/{kind}", []).append(float(len(own)))
        return _figures(columns)

    return measure


def _numeric(one: Labelled) -> Labelled:
    """The rollouts whose answer is a number."""
    group, scores = one
    kept = [i for i, own in enumerate(group) if is_numeric(own)]
    return Group(group.task, tuple(group[i] for i in kept)), Scores(scores.outcome[kept])


def _styled(found: Sequence[Labelled], style: str, format: ChatFormat, seed: int) -> list[Labelled]:
    """The answers with the style's shares in a sentence."""
    right, wrong = STYLES[style]
    made = list[Labelled]()
    for group, scores in found:
        own = list[Trajectory]()
        for one, truth in zip(group, scores.outcome, strict=True):
            share = right if truth > 0.5 else wrong
            drawn = random.Random(derive_seed("style", seed, one.id)).random() < share
            text = in_sentence(one.final_text) if drawn else one.final_text
            own.append(with_answer(one, text, format=format))
        made.append((Group(group.task, tuple(own)), scores))
    return made


def _preferences(found: Sequence[Labelled], most: int) -> list[Pair]:
    """Correct over wrong answers of a task, the first `most`."""
    pairs = list[Pair]()
    for group, scores in found:
        right = [one for one, truth in zip(group, scores.outcome, strict=True) if truth > 0.5]
        wrong = [one for one, truth in zip(group, scores.outcome, strict=True) if truth <= 0.5]
        pairs += [Pair(a, b) for a in right for b in wrong][:most]
    return pairs


def _fitted(engine: Engine, pairs: Sequence[Pair], presented: int, learning_rate: float) -> RewardModel:
    both = {"pairs": (1.0, losses.preference.bradley_terry()), "ties": (1.0, losses.preference.neutral())}
    model = judges.reward_model(
        pairs=lambda rated: list(pairs),
        loss=losses.preference.summed(losses=both),
        batch_size=16,
        fit_epochs=max(round(presented / max(len(pairs), 1)), 1),
        learning_rate=learning_rate,
        learns=False,
    )
    model.begin(engine)
    model.fit([])
    return model


def _measured(
    model: RewardModel, views: Mapping[str, Sequence[Labelled]], tested: Sequence[Labelled], format: ChatFormat
) -> dict[str, float]:
    found = dict[str, float]()
    for style, own in views.items():
        kept = [(group, scores) for group, scores in own if len(group)]
        ranked = rank_figures([model.score(group) for group, _ in kept], [scores.outcome for _, scores in kept])
        found |= {f"pair/{style}/MODEL": ranked.pair, f"best/{style}/MODEL": ranked.best, "best/random": ranked.random}
    group = Group(tested[0][0].task, tuple(one for own, _ in tested for one in own))
    sentence = [with_answer(one, in_sentence(one.final_text), format=format) for one in group]
    plain_G, sentence_G = model.score(group), model.score(Group(group.task, tuple(sentence)))
    every = np.concatenate([plain_G, sentence_G])
    return found | {"gap/MODEL": float((sentence_G - plain_G).mean() / max(every.std(), 1e-9))}


def _figures(columns: Mapping[str, Sequence[float]]) -> dict[str, float]:
    figures = dict[str, float]()
    for name, own in columns.items():
        figures |= interval_figures(name, own)
    for style in STYLES:
        for model in MODELS:
            if model != "crome":
                difference = np.subtract(columns[f"pair/{style}/crome"], columns[f"pair/{style}/{model}"])
                figures |= interval_figures(f"gain/{style}/{model}", difference)
    falls = np.abs(columns["gap/vanilla"]) - np.abs(columns["gap/crome"])
    figures |= interval_figures("gap_fall", falls)
    return dict(sorted(figures.items()))
