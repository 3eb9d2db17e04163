"""Verdicts of a verifier's conversation: labels, their probabilities, and support by results of tools.

Legend: L steps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import ToolCall, Trajectory

__all__ = ["LABEL_TEXTS", "LEAST", "StepVerdict", "gold_probability", "read_verdicts", "supports", "verdict_text"]

LABEL_TEXTS: Mapping[int, str] = MappingProxyType({1: "+", -1: "-"})
"""Label -> its text."""
LEAST = 0.01
"""Least probability of a label; that of a missing label."""
FORM = re.compile(r"(\d+):(\d+)([+-])")
BYTES = 256
"""Ids below stand for a byte."""


class StepVerdict(NamedTuple):
    """found, claim: quoted texts. label: 1 or -1. logp: of the label's token. turn: number of its turn."""

    found: str
    claim: str
    label: int
    logp: float
    turn: int


def verdict_text(found: str, claim: str) -> str:
    """Write a verdict: the verifier's own number, the claim of the step, and the label.

    Example:
        ("95", "93") -> "95:93-"
    """
    return f"{found}:{claim}{LABEL_TEXTS[1 if found == claim else -1]}"


def read_verdicts(one: Trajectory) -> list[StepVerdict | None]:
    """Read the verdicts that the verifier sampled, in order; replies and the question are not read.

    Returns:
        [L], None for each step without a verdict; verdicts beyond the last step are left out. L is the number of labels
        in the task's metadata.

    Raises:
        InputError: the task has no labels.

    Example:
        turns "45:45+" and "95:93- 186:186+" of a task with 3 steps  ->  labels 1, -1, 1 of turns 0, 1, 1
    """
    if "labels" not in one.task.metadata:
        raise InputError(f"task {one.task.id!r} has no labels of steps: use a world such as table_steps")
    found = list[StepVerdict | None]()
    for number, turn in enumerate(one.turns):
        sequence = one.sequences[turn.sequence]
        ids_T = sequence.ids[turn.start : turn.stop]
        # A character a token, so that places in the text are those of tokens.
        text = "".join(chr(token) if token < BYTES else "\0" for token in ids_T.tolist())
        for match in FORM.finditer(text):
            logp = float(sequence.logp[turn.start + match.start(3)])
            found.append(StepVerdict(match[1], match[2], 1 if match[3] == LABEL_TEXTS[1] else -1, logp, number))
    steps = len(one.task.metadata["labels"])
    return [*found, *[None] * steps][:steps]


def gold_probability(verdict: StepVerdict | None, gold: int) -> float:
    """Probability that the verifier gives to the correct label.

        p = exp(logp) if the sampled label is correct, else 1 - exp(logp)        at least 0.01

    Args:
        verdict: None for a missing one, whose p is 0.01.
        gold: 1 or -1.

    Example:
        a sampled + of probability 0.8  ->  0.8 if + is correct, and 0.2 if - is

    Paper: arXiv:2510.06217 (TaTToo), confidence of the label.
    Differs: mass on tokens other than the two labels counts for the label that was not sampled.
    """
    if verdict is None:
        return LEAST
    p = float(np.exp(min(verdict.logp, 0.0)))
    return max(LEAST, p if verdict.label == gold else 1.0 - p)


def supports(one: Trajectory, calls: Sequence[ToolCall]) -> list[float]:
    """Tell for each step whether its verdict is grounded in a tool's result.

        support_i = 1 if, before the turn of verdict i, the call of step i had the result that the verdict quotes

    Results are read from the records of tools, never from the verifier's text.

    Args:
        calls: [L], the call that checks each step.

    Returns:
        [L], 0 or 1; 0 for a step without a verdict.

    Example:
        lookup b1 replied 45: 1 for "45:45+", and 0 for "46:45-", or if lookup b2 was called

    Paper: arXiv:2510.06217 (TaTToo), support of a rationale by tool outputs.
    Differs: a quotation is compared, where the paper's test is unknown here.
    """
    seen = list[tuple[int, ToolCall, str]]()
    for number, turn in enumerate(one.turns):
        for call, reply in zip(turn.parsed.calls, turn.replies):
            if reply.status == "ok":
                seen.append((number, call, reply.content.strip()))
    return [
        float(
            verdict is not None
            and any(
                number < verdict.turn and _equal(call, own) and reply == verdict.found for number, call, reply in seen
            )
        )
        for verdict, own in zip(read_verdicts(one), calls, strict=True)
    ]


def _equal(call: ToolCall, other: ToolCall) -> bool:
    stripped = {name: str(value).strip() for name, value in call.arguments.items()}
    return call.name == other.name and stripped == dict(other.arguments)
