"""Step-wise metrics of a tool agent, with the reference chain as history of every prediction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.records import ParsedTurn, ToolCall

__all__ = ["Prediction", "step_metrics"]


class Prediction(NamedTuple):
    """Prediction of one step of a reference chain.

    gold       the reference call; None for the step of the answer
    predicted  the policy's turn after the reference steps before
    correct    score of the turn's text as an answer, 0 to 1; read at the step of the answer
    """

    gold: ToolCall | None
    predicted: ParsedTurn
    correct: float = 0.0


def step_metrics(predictions: Sequence[Prediction]) -> dict[str, float]:
    """Compute instruction, tool, argument and answer accuracy over the steps of any number of chains.

        inst_acc  steps with a turn of the right kind and without a malformed call / all steps
        tool_acc  tool steps with the right tool / all tool steps
        arg_acc   tool steps with the right tool and equal arguments / all tool steps
        summ_acc  mean score of the answers, 0 for a turn with a call / all answer steps

    The kind of a turn is "tool" with a call and "answer" with text alone. The first call of a turn counts. A ratio
    without steps is 0.

    Args:
        predictions: of all steps.

    Returns:
        The four figures, 0 to 1. arg_acc <= tool_acc always.

    Example:
        gold zoom(a), ocr(b), answer; predicted zoom(a), ocr(c), a correct answer
        ->  inst_acc 1, tool_acc 1, arg_acc 1/2, summ_acc 1

    Paper: arXiv:2407.08713 (GTA), the step-by-step mode; from its released code.
    Differs: parallel calls of one step are not there; each step of a chain has one call.
    """
    tools = [one for one in predictions if one.gold is not None]
    answers = [one for one in predictions if one.gold is None]
    right = [one for one in tools if _name(one) == one.gold.name]  # type: ignore[union-attr]
    equal = [one for one in right if dict(one.predicted.calls[0].arguments) == dict(one.gold.arguments)]  # type: ignore[union-attr]
    return {
        "inst_acc": _share(sum(_kind_is_right(one) for one in predictions), predictions),
        "tool_acc": _share(len(right), tools),
        "arg_acc": _share(len(equal), tools),
        "summ_acc": _share(sum(one.correct for one in answers if not one.predicted.calls), answers),
    }


def _kind_is_right(one: Prediction) -> bool:
    if one.predicted.errors:
        return False
    if one.gold is not None:
        return bool(one.predicted.calls)
    return not one.predicted.calls and bool(one.predicted.text.strip())


def _name(one: Prediction) -> str:
    return one.predicted.calls[0].name if one.predicted.calls else ""


def _share(part: float, whole: Sequence[Prediction]) -> float:
    return part / len(whole) if whole else 0.0
