"""Monitor: detects failure from the progress of an episode, by a rule or by a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import probability
from handaxe.core.errors import InputError
from handaxe.methods.study_source import study_answer

__all__ = ["Monitor", "asked_monitor", "rule_monitor"]

Monitor = Callable[[Sequence[float], str, Sequence[str]], bool | None]
"""(scores of the visited states, mission, last views) -> True for a failure; None for a question without an answer."""
SHOWN = 4
"""Views that a model reads."""


def rule_monitor(*, patience: int = 8) -> Monitor:
    """Make a monitor: failure after `patience` actions without a new best score.

        failure  <=>  max(g_{t-patience+1} ... g_t) <= max(g_0 ... g_{t-patience})

    Args:
        patience: actions, 1 or more.

    Returns:
        A monitor; False with `patience` scores or fewer.

    Raises:
        InputError: patience below 1.

    Example:
        scores -5, -3, -3, -4 with patience 2 -> True; -5, -3, -3, -2 -> False

    Paper: arXiv:2410.06473 (GRAPPA), the monitoring agent.
    Differs: a rule on scores; in the paper a model reads observations.
    """
    if patience < 1:
        raise InputError(f"a patience is 1 or more, not {patience}")

    def failed(scores: Sequence[float], mission: str, views: Sequence[str]) -> bool:
        del mission, views
        return len(scores) > patience and max(scores[-patience:]) <= max(scores[:-patience])

    return failed


def asked_monitor(desk: AskDesk, *, patience: int = 8) -> Monitor:
    """Make a monitor that asks a language model after every `patience` actions.

    Args:
        desk: asks the model, whose yes at a probability above 0.5 is a failure; None for a question without a readable
            answer.
        patience: actions between two questions, 1 or more.

    Raises:
        InputError: patience below 1; while monitoring, a model that is away.

    Paper: arXiv:2410.06473 (GRAPPA), the monitoring agent.
    Unconfirmed: the wording of the prompt.
    """
    rule_monitor(patience=patience)  # raises early

    def failed(scores: Sequence[float], mission: str, views: Sequence[str]) -> bool | None:
        if len(scores) <= patience or (len(scores) - 1) % patience:
            return False
        prompt = find_prompt("grappa/stuck", terse=desk.answerer.terse)
        fields = {"mission": mission, "views": "\n".join(views[-SHOWN:])}
        (found,) = desk.ask([Ask(prompt, fields, role="monitor")], probability())
        chance = study_answer(found, role="monitor")
        return None if chance is None else float(chance) > 0.5

    return failed
