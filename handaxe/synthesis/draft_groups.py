"""Drafts of kind "group": a task with labelled rollouts as texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.records import Trajectory
from handaxe.judges.question_fields import FIELDS
from handaxe.synthesis.draft import SynthesisDraft, make_draft

__all__ = ["LabelledRollout", "group_draft", "group_rollouts", "rollout_text"]


class LabelledRollout(NamedTuple):
    """Rollout of a group: its text, the outcome by the world's rule, its source, and labels of its steps.

    steps   a text and a label for each judged step: 1 for a correct one, -1 for an incorrect one
    """

    text: str
    label: float
    by: str
    steps: tuple[tuple[str, int], ...] = ()


def group_draft(draft: SynthesisDraft, rollouts: Sequence[LabelledRollout]) -> SynthesisDraft:
    """Make a child of a task's draft with rollouts; notes stay. Steps that read tasks read it, too."""
    shown = [{"text": one.text, "label": one.label, "by": one.by, "steps": [*map(list, one.steps)]} for one in rollouts]
    return make_draft("group", {**draft.payload, "rollouts": shown}, parents=(draft.id,), notes=draft.notes)


def group_rollouts(draft: SynthesisDraft) -> list[LabelledRollout]:
    """Read the rollouts of a draft of kind "group"; [] for another draft."""
    found = draft.payload.get("rollouts", ())
    return [
        LabelledRollout(one["text"], one["label"], one["by"], tuple((text, label) for text, label in one["steps"]))
        for one in found
    ]


def rollout_text(one: Trajectory) -> str:
    """The turns of a rollout and the replies to them, a line "ROLE: TEXT" each; "" without turns.

    Example:
        assistant: calculator({"expression": "12*34"})
        tool: 408
        assistant: 408
    """
    return FIELDS["conversation"](one, len(one.turns) - 1, None) if one.turns else ""
