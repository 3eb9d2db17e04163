"""Rewards the labels of a verifier by their agreement with reference labels, and the form of its reply."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handaxe.core.errors import TaskError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Task
from handaxe.papers.search_gen_v.labels import FORMATS, LABELS, has_format, label_words, read_reply

__all__ = ["FORMAT", "label_agreement", "macro_f1", "stated_labels"]

WEIGHTS = (0.35, 0.35, 0.2, 0.1)
"""Of F1, equal lists, reasoning and format."""
FORMAT = "format"
"""Key of task metadata with the requested format."""


def label_agreement(*, labels: Sequence[str] = LABELS) -> Reward:
    """Give agreement with the reference labels, `task.answer`, and points for reasoning and for the requested format.

        R_i = 0.35 F1 + 0.35 [labels equal] + 0.2 reasoning + 0.1 format
        R_i = 0   if the number of labels differs from that of the reference, if F1 is 0, or with two openings of
                  reasoning or more
        reasoning = 1 for one block with text, followed by labels; 0.5 for one empty block; else 0
        format    = 1 for the labels in the format of the task's metadata "format" and nothing else; else 0

    Args:
        labels: known labels; those of the paper by default.

    Returns:
        A reward with outcome [G], from 0 to 1, and the channels f1, exact, reasoning and format; all are 0 where the
        outcome is.

    Raises:
        TaskError: the answer of the task is no list of labels, or its format is unknown.

    Example:
        reference S S N, reply S N N with reasoning in the format  ->  0.35 * 0.7778 + 0.2 + 0.1 = 0.5722; S S  ->  0

    Paper: arXiv:2510.14660 (Search-Gen-V), the reward of the verifier, by its released code.
    Differs: the format is exact, and labels are read as words in any format; the released code has a looser check and a
        reader for each format.
    """

    def reward(group: Group) -> Scores:
        gold = _reference(group.task, labels)
        parts_G4 = np.array([_parts(one.final_text, gold, group.task, labels) for one in group]).reshape(-1, 4)
        channels = dict(zip(("f1", "exact", "reasoning", "format"), parts_G4.T, strict=True))
        return Scores(parts_G4 @ np.array(WEIGHTS), channels=channels)

    return reward


def stated_labels(text: str, labels: Sequence[str] = LABELS) -> list[str]:
    """Return the labels after the reasoning of a reply; none with two openings of reasoning or more.

    Example:
        "<reasoning>support?</reasoning>not_support"  ->  ["not_support"]
    """
    reply = read_reply(text)
    return [] if reply.opened > 1 else label_words(reply.labels, labels)


def macro_f1(found: Sequence[str], gold: Sequence[str], labels: Sequence[str] = LABELS) -> float:
    """Mean over the labels of F1 of a label among the nuggets; 1 for a label in neither list.

        F1_l = 2 TP_l / (2 TP_l + FP_l + FN_l)

    Args:
        found: stated labels, one a nugget.
        gold: reference labels, of the same number.
        labels: known labels.

    Returns:
        From 0 to 1.

    Example:
        found S N N, gold S S N  ->  (2/3 + 1 + 2/3) / 3 = 0.7778, where no nugget is partial

    Paper: arXiv:2510.14660 (Search-Gen-V), F1 of its reward, by its released code.
    Differs: nothing.
    """
    values = []
    for label in labels:
        hits = sum(one == two == label for one, two in zip(found, gold, strict=True))
        stated, wanted = list(found).count(label), list(gold).count(label)
        values.append(2 * hits / (stated + wanted) if stated + wanted else 1.0)
    return float(np.mean(values))


def _parts(text: str, gold: Sequence[str], task: Task, labels: Sequence[str]) -> tuple[float, float, float, float]:
    reply, found = read_reply(text), stated_labels(text, labels)
    if len(found) != len(gold) or not found or (f1 := macro_f1(found, gold, labels)) == 0:
        return 0.0, 0.0, 0.0, 0.0
    whole = reply.opened == reply.closed == 1 and reply.reasoning is not None
    reasoning = (1.0 if reply.reasoning else 0.5) if whole else 0.0
    formed = has_format(reply.labels, found, task.metadata[FORMAT])
    return f1, float(found == list(gold)), reasoning, float(formed)


def _reference(task: Task, labels: Sequence[str]) -> list[str]:
    gold = task.answer
    if not isinstance(gold, list) or not gold or not set(gold) <= set(labels):
        raise TaskError(f"task {task.id!r} needs a list of {', '.join(labels)} as answer, not {gold!r:.80}")
    if (format := task.metadata.get(FORMAT)) not in FORMATS:
        raise TaskError(f"task {task.id!r} needs one of {', '.join(FORMATS)} as metadata {FORMAT!r}, not {format!r}")
    return gold
