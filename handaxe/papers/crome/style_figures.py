"""Ranking of styled answers by a reward model, and its score of the style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from handaxe.core.protocols import ChatFormat, Judge, Labelled
from handaxe.core.records import Group
from handaxe.evaluation.rank_figures import judge_figures
from handaxe.papers.crome.answer_rewrites import in_sentence, with_answer

__all__ = ["style_figures"]


def style_figures(
    model: Judge, views: Mapping[str, Sequence[Labelled]], tested: Sequence[Labelled], format: ChatFormat
) -> dict[str, float]:
    """Measure a reward model on answers in each style.

        gap = mean(score in a sentence - score of the number) / standard deviation of both

    Args:
        model: fitted.
        views: style -> groups.
        tested: the groups without a style, for the gap.
        format: renders the conversations.

    Returns:
        pair/STYLE/MODEL, best/STYLE/MODEL, best/random and gap/MODEL, where MODEL stands for a name.

    Example:
        a model that scores correct answers 1, others 0, and a sentence 1 more -> pair 1, gap above 0

    Paper: arXiv:2506.16507 (Crome), robustness to spurious attributes.
    Differs: the attribute is a rule.
    """
    found = dict[str, float]()
    for style, own in views.items():
        kept = [(group, scores) for group, scores in own if len(group)]
        ranked = judge_figures(model, kept)
        found |= {f"pair/{style}/MODEL": ranked.pair, f"best/{style}/MODEL": ranked.best, "best/random": ranked.random}
    group = Group(tested[0][0].task, tuple(one for own, _ in tested for one in own))
    sentence = [with_answer(one, in_sentence(one.final_text), format=format) for one in group]
    plain_G, sentence_G = model.score(group), model.score(Group(group.task, tuple(sentence)))
    every = np.concatenate([plain_G, sentence_G])
    return found | {"gap/MODEL": float((sentence_G - plain_G).mean() / max(every.std(), 1e-9))}
