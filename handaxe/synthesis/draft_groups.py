"""Drafts of kind "group": a task with labelled rollouts as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.records import Trajectory
from handaxe.judges.question_fields import FIELDS
from handaxe.synthesis.draft import SynthesisDraft, make_draft
from handaxe.synthesis.task_drafts import ORIGIN

__all__ = ["LabelledRollout", "group_draft", "group_rollouts", "judging_draft", "rollout_text"]


class LabelledRollout(NamedTuple):
    """Rollout of a group: text, outcome by the world's rule, source, and labels of the steps.

    steps   turn, text up to it and label of each judged step: 1 for a correct one, -1 for an incorrect one
    """

    text: str
    label: float
    by: str
    steps: tuple[tuple[int, str, int], ...] = ()


def group_draft(draft: SynthesisDraft, rollouts: Sequence[LabelledRollout]) -> SynthesisDraft:
    """Make a child of a task's draft with rollouts; notes stay. Steps that read tasks also read the child.

    Example:
        draft "12*34=?" with the texts "... 408" (1.0) and "... 403" (0.0)  ->  a draft of kind "group"

    Idea: judges learn from siblings with labels, whatever made them.
    """
    shown = [{"text": one.text, "label": one.label, "by": one.by, "steps": [*map(list, one.steps)]} for one in rollouts]
    return make_draft("group", {**draft.payload, "rollouts": shown}, parents=(draft.id,), notes=draft.notes)


def group_rollouts(draft: SynthesisDraft) -> list[LabelledRollout]:
    """Read the rollouts of a draft of kind "group"; [] for another draft."""
    found = draft.payload.get("rollouts", ())
    return [
        LabelledRollout(
            one["text"], one["label"], one["by"], tuple((turn, text, label) for turn, text, label in one["steps"])
        )
        for one in found
    ]


def judging_draft(draft: SynthesisDraft, text: str, answer: str) -> SynthesisDraft:
    """Make the task of judging rollouts of a group, without tools and metadata. Question and answer of the
    group stay as origin, and so do notes.
    """
    payload = {
        "messages": [{"role": "user", "content": text}],
        "answer": answer,
        "tools": [],
        "calls": None,
        "metadata": {},
        ORIGIN: {"messages": draft.payload["messages"], "answer": draft.payload["answer"]},
    }
    return make_draft("task", payload, parents=(draft.id,), notes=draft.notes)


def rollout_text(one: Trajectory) -> str:
    """The turns and replies of a rollout, a line "ROLE: TEXT" each; "" without turns.

    Example:
        assistant: calculator({"expression": "12*34"})
        tool: 408
        assistant: 408
    """
    return FIELDS["conversation"](one, len(one.turns) - 1, None) if one.turns else ""
