"""Judge of solutions: a head on the frozen states of a policy, fitted on labelled questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.fitted_head import FittedHead
from handaxe.asking.read import probability
from handaxe.core.errors import InputError
from handaxe.core.protocols import ChatFormat
from handaxe.methods.teach_judge import Labelled
from handaxe.papers.master_rm.key_rates import AnswerChances

__all__ = ["desk_chances", "fit_judge"]


def fit_judge(engine: Any, format: ChatFormat, lessons: Sequence[Labelled]) -> AnswerChances:
    """Fit a head on the states of an engine's model, which stays unchanged.

    Args:
        engine: of the policy, a `LocalEngine`.
        format: its chat format.
        lessons: questions and labels.

    Returns:
        Probabilities of yes.

    Raises:
        InputError: as of `asking.fitted_head.FittedHead.fit`.

    Example:
        fit_judge(engine, format, lessons)(questions)  ->  one probability for each question

    Idea: a judge that learns from few labels; Master-RM (arXiv:2507.08794) fine-tunes a language model.
    """
    head = FittedHead(engine, format, name="head:tiny")
    head.fit([ask for ask, _ in lessons], [label for _, label in lessons])
    return desk_chances(AskDesk(head))


def desk_chances(desk: AskDesk) -> AnswerChances:
    """Make a function from questions to probabilities of yes.

    Raises:
        InputError: while asking, a question without an answer, such as one beyond the context.
    """

    def chances(asks: Sequence[Ask]) -> np.ndarray:
        found = desk.ask(asks, probability())
        if missing := [one for one in found if isinstance(one, NoAnswer)]:
            raise InputError(
                f"{len(missing)} of {len(found)} questions have no answer ({missing[0].reason}): give shorter solutions"
            )
        return np.array(found, np.float64)

    return chances
