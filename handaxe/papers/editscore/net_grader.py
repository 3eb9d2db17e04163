"""Grader with a distribution over grades, fitted on a teacher's grades, which samples texts.

Legend: N edits, A aspects, V grades from 0 to V - 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.deferred import torch
from handaxe.core.errors import InputError
from handaxe.judges.small_net import SmallNet, minimise
from handaxe.ops.seeds import generator
from handaxe.papers.editscore.edit_questions import EditQuestion, teacher_grades, write_grades
from handaxe.worlds.canvas.edit_features import EDIT_SIZE, edit_row
from handaxe.worlds.canvas.edits import ASPECTS, edit_drawing, edit_requests

__all__ = ["NetGrader", "fit_grader", "tempered"]


def tempered(logits: np.ndarray, uniform: np.ndarray, *, temperature: float) -> np.ndarray:
    """Sample a grade from softmax(logits / temperature), by uniform numbers; the most likely grade at temperature 0.

    Args:
        logits: [..., V].
        uniform: [...], 0 to below 1.
        temperature: >= 0.

    Returns:
        [...] grades.

    Raises:
        InputError: a negative temperature.

    Example:
        P 0.2, 0.5 and 0.3 at temperature 1, uniform 0.6  ->  1;  at temperature 0 always 1

    Paper: EditScore (paper 63), samples at temperature 0.7.
    Differs: a grade is one symbol.
    """
    if temperature < 0:
        raise InputError(f"temperature is {temperature}; give 0 or more")
    if not temperature:
        return np.asarray(logits.argmax(-1))
    scaled = logits / temperature
    chance = np.exp(scaled - scaled.max(-1, keepdims=True))
    total = chance.cumsum(-1)
    return np.asarray((total <= uniform[..., None] * total[..., -1:]).sum(-1).clip(max=logits.shape[-1] - 1))


class NetGrader:
    """Samples answers to questions about edits.

        P(grade | edit, aspect) = softmax(net(edit)_aspect / temperature)

    Args:
        net: of A * V outputs.
        best: highest grade, V - 1.
        temperature: of the samples; 0 is greedy, 0.7 in the paper.
        seed: of the samples.

    Example:
        NetGrader(net)([question], 0)  ->  ["[20, 15]"]

    Paper: EditScore (paper 63), passes with different seeds.
    Differs: a small network on features of the pixels, in place of a vision-language model that reasons.
    """

    def __init__(self, net: SmallNet, *, best: int = 25, temperature: float = 0.7, seed: int = 0):
        self.net = net
        self._best = best
        self._temperature = temperature
        self._seed = seed

    def __call__(self, questions: Sequence[EditQuestion], number: int) -> list[str]:
        """A text for each question; an equal question has an equal answer in one sample."""
        if not questions:
            return []
        rows = np.array([edit_row(ask.image, ask.request) for ask in questions])
        logit_NAV = self.net.values(rows).reshape(len(rows), len(ASPECTS), self._best + 1)
        uniform_NA = np.array([self._draws(ask, number) for ask in questions])
        grade_NA = tempered(logit_NAV, uniform_NA, temperature=self._temperature)
        return [write_grades(ask.about, tuple(own.tolist())) for ask, own in zip(questions, grade_NA, strict=True)]

    def _draws(self, ask: EditQuestion, number: int) -> np.ndarray:
        key = (ask.about, ask.request.words, ask.image.digest)
        return generator("grades", self._seed, number, *key).random(len(ASPECTS))


def fit_grader(
    *,
    edits: int = 400,
    best: int = 25,
    noise: float = 0.2,
    temperature: float = 0.7,
    kinds: Sequence[str] | None = None,
    steps: int = 200,
    seed: int = 0,
) -> NetGrader:
    """Fit a grader on a teacher's grades of edited drawings, by cross-entropy.

    Args:
        edits: edited drawings.
        best: highest grade.
        noise: standard deviation of the teacher's errors, as a share of `best`.
        temperature: of the samples.
        kinds: of the requests; None for all.
        steps: of AdamW.
        seed: of drawings, errors, weights and samples.

    Raises:
        InputError: no edit.

    Example:
        fit_grader(edits=400)([question], 0)  ->  two grades of a semantic question, such as ["[18, 13]"]

    Paper: EditScore (paper 63), supervised fine-tuning of a generative judge.
    Differs: the teacher knows the qualities, and errs at random.
    """
    if edits < 1:
        raise InputError(f"edits is {edits}; give 1 or more")
    rng = generator("editscore lessons", seed)
    made = [edit_drawing(one, rng) for one in edit_requests(edits, seed=seed, kinds=kinds)]
    grade_NA = torch.tensor([teacher_grades(one, best=best, noise=noise, rng=rng) for one in made])
    rows = np.array([edit_row(one.image, one.request) for one in made])
    net = SmallNet(EDIT_SIZE, len(ASPECTS) * (best + 1), seed=seed)
    net.scale(rows)
    flat_M = grade_NA.flatten()
    minimise(lambda: torch.nn.functional.cross_entropy(net(rows).reshape(len(flat_M), -1), flat_M), net, steps=steps)
    return NetGrader(net, best=best, temperature=temperature, seed=seed)
