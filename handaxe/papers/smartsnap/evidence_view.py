"""What the judge sees of a submission: task, message and chosen observations, as a rollout of one turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from handaxe.core.protocols import StepJudge
from handaxe.core.records import ParsedTurn, ToolReply, Trajectory
from handaxe.judges.exact_steps import exact_steps
from handaxe.papers.smartsnap.submission import Submission, holds_documents
from handaxe.rewards.parts.reference import gold_answers, normalise

__all__ = ["Sees", "answer_judge", "chain_judge", "evidence_view", "view_size"]

Sees = Literal["evidence", "all"]
VIEW = "evidence_view"
"""Key of the notes that marks a view."""
ACTION = "action"
"""Name of a result that is an action of the agent, in a view of the whole rollout."""


def evidence_view(trajectory: Trajectory, submission: Submission, *, sees: Sees = "evidence") -> Trajectory:
    """Make a rollout of one turn: the message as its text, and as its results the observations that the judge sees.

    Args:
        trajectory: whole rollout.
        submission: its submission.
        sees: "evidence" for the chosen observations alone, "all" for every action and observation of the rollout.

    Returns:
        A rollout of the task with the tokens of the whole one, so that equal rollouts have equal errors under
        `judges.noisy`. Fields of `judges.question_fields`: task, answer (the message) and then (what is seen).

    Example:
        two searches and evidences [1]  ->  one turn with the second result; with "all", both calls and both results

    Paper: arXiv:2512.22322 (SmartSnap), the material of the judge.
    Differs: nothing.
    """
    last = trajectory.turns[-1]
    seen = submission.chosen if sees == "evidence" else _everything(trajectory)
    parsed = ParsedTurn(submission.message, raw=submission.message)
    notes = {**trajectory.notes, VIEW: True}
    turn = replace(last, parsed=parsed, replies=seen)
    return replace(trajectory, id=f"{trajectory.id}/{sees}", turns=(turn,), notes=notes)


def view_size(view: Trajectory) -> int:
    """Count the characters of a view: task, message and results.

    Example:
        task "4071 boss?", message "5526" and a result of 26 characters  ->  40

    Idea: the reading of a judge without a tokenizer.
    """
    return len(view.task.messages[-1].content) + len(view.final_text) + sum(len(one.content) for one in view.replies)


def chain_judge(*, slip: float = 0.0) -> StepJudge:
    """Make a rule for the validity of evidence: the chosen results hold every reference document of the task.

        P(valid) = 1 - slip if each document of `metadata["gold_documents"]` is the source "[ID]" of a result, else slip

    Args:
        slip: probability of an error, 0 to below 1/2: a rule in the place of a model that is never certain.

    Returns:
        A step judge of views; other turns score 1/2, which is no label.

    Example:
        documents "4071 boss" and "5526 ally", result "[4071 boss] 4071 boss 5526" alone  ->  slip

    Idea: evidence is valid if it shows success or failure; without a fact it shows neither.
    """
    return _of_views(_has_chain, slip)


def answer_judge(*, slip: float = 0.0) -> StepJudge:
    """Make a rule for the verdict: the message equals a reference answer.

        P(success) = 1 - slip if the message equals an answer after normalization, else slip

    Args:
        slip: as in `chain_judge`.

    Returns:
        A step judge of views; other turns score 1/2, which is no label.

    Example:
        answer "1390", message "1390"  ->  1 - slip;  "5526"  ->  slip

    Idea: a rule in the place of a judge that reads the evidence.
    """
    return _of_views(lambda view: normalise(view.final_text) in set(map(normalise, gold_answers(view.task))), slip)


def _of_views(holds: Callable[[Trajectory], bool], slip: float) -> StepJudge:
    def verdicts(one: Trajectory) -> np.ndarray:
        if not one.notes.get(VIEW):
            return np.full(len(one.turns), 0.5)
        return np.array([1 - slip if holds(one) else slip])

    return exact_steps(verdicts=verdicts)


def _has_chain(view: Trajectory) -> bool:
    return holds_documents([reply for reply in view.replies if reply.name != ACTION], view.task)


def _everything(trajectory: Trajectory) -> tuple[ToolReply, ...]:
    """Actions and observations of all turns, in order."""
    found: list[ToolReply] = []
    for turn in trajectory.turns:
        found += [ToolReply("", ACTION, turn.parsed.raw), *turn.replies]
    return tuple(found)
