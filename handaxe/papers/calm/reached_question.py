"""Questions to a language model whether a step has reached a sub-goal.

Example:
    before: "you see a key", task: "...", did: "pickup", then: "carrying a key", a line each, and "This step has brought
    it about: It holds the key. yes or no?"
Paper: arXiv:2409.12798 (CALM), the evaluation of transitions by language models.
Unconfirmed: the wording of the question; the abstract alone was read.
Differs: the likelihoods of two answers are compared; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import Prompt, parse_prompt
from handaxe.asking.read import probability
from handaxe.core.errors import VerifierError
from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Trajectory
from handaxe.judges.question_fields import question_fields
from handaxe.methods.teach_judge import NO, YES, Labelled
from handaxe.papers.calm.goal_transitions import Criteria, goal_transitions

__all__ = ["ALONE", "REACHED", "reached_chances", "reached_check", "reached_labels", "reached_question"]

HEAD = """+++
id = "calm/{name}"
version = 1
trusted = ["criterion"]
quoted = [{fields}]
labels = {{ yes = ["yes"], no = ["no"] }}
+++
{{{{user}}}}
"""
TURN = """task: {{task}}
did: {{did}}
then: {{then}}
This step has brought it about: {{criterion}} yes or no?
"""
ALONE = parse_prompt(HEAD.format(name="alone", fields='"task", "did", "then"') + TURN, source=__name__)
"""Prompt without the result of the turn before."""
REACHED = parse_prompt(
    HEAD.format(name="reached", fields='"before", "task", "did", "then"') + "before: {{before}}\n" + TURN,
    source=__name__,
)
"""Prompt with the result of the turn before."""


def reached_question(trajectory: Trajectory, turn: int, criterion: Criterion, *, prompt: Prompt = REACHED) -> Ask:
    """The question whether a turn has reached a criterion, not whether the criterion holds after the turn."""
    fields = question_fields(prompt, trajectory, turn, criterion)
    return Ask(prompt, fields, about=(trajectory.id, turn, criterion.name))


def reached_chances(desk: AskDesk, asks: Sequence[Ask]) -> np.ndarray:
    """[Q] P(yes) / (P(yes) + P(no)) of each question.

    Raises:
        VerifierError: a question without an answer.
    """
    found = desk.ask(asks, probability())
    for ask, one in zip(asks, found, strict=True):
        if isinstance(one, NoAnswer):
            trajectory, turn, criterion = ask.about
            raise VerifierError(
                f"the judge gave no verdict on criterion {criterion!r} in turn {turn + 1}: {one.reason}",
                trajectory=trajectory,
            )
    return np.array(found, np.float64)


def reached_check(*, desk: AskDesk) -> Check:
    """Make a check of the criteria that each turn has reached, by a language model: true for P(yes) above one half.

    Returns:
        A `protocols.Check`: (trajectory, criteria) -> [C, N] bool, for `subgoals(per_transition=True)`. Every turn is
        asked about every criterion, and a criterion may be reached in several turns.

    Raises:
        VerifierError: while checking, a question without an answer.
    """

    def check(trajectory: Trajectory, criteria: Sequence[Criterion]) -> np.ndarray:
        turns = range(len(trajectory.turns))
        asks = [reached_question(trajectory, n, one) for one in criteria for n in turns]
        return (reached_chances(desk, asks) > 0.5).reshape(len(criteria), len(turns))

    return check


def reached_labels(*, criteria: Criteria, check: Check) -> Callable[[Trajectory], list[Labelled]]:
    """Make labels for `teach_judge`: every turn with every criterion, yes if the rule says that the turn reached it."""

    def labels(trajectory: Trajectory) -> list[Labelled]:
        found = goal_transitions([trajectory], criteria=criteria, check=check)
        return [(reached_question(trajectory, one.turn, one.criterion), YES if one.reached else NO) for one in found]

    return labels
