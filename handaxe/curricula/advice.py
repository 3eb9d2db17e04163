"""Summaries of failed rollouts, and a rule-based mutation operator for instructions."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from handaxe.core.records import Trajectory
from handaxe.ops.seeds import generator

__all__ = ["ADVICE", "Failure", "Propose", "failure_tags", "rule_mutations"]

ADVICE: Mapping[str, str] = {
    "no call": "Use a tool.",
    "malformed": "Write each call exactly.",
    "tool failed": "Copy every digit into the call.",
    "cut": "Be short.",
    "wrong": "Answer with what the tool says.",
}
"""Failure tag -> sentence of advice."""


class Failure(NamedTuple):
    """Summary of a failed rollout.

    instruction  name of the rollout's system prompt
    task         id of the task
    said         text of the last turn
    reward       total reward
    tags         failure tags, keys of ADVICE
    conversation  the rollout as text, for a model that reflects
    """

    instruction: str
    task: str
    said: str
    reward: float
    tags: tuple[str, ...]
    conversation: str = ""


Propose = Callable[[str, Sequence[Failure], int], list[str]]
"""(instruction, its failures, seed) -> candidate instructions, the most promising first."""


def failure_tags(trajectory: Trajectory) -> tuple[str, ...]:
    """Return the failure tags of a rollout, as keys of ADVICE; "wrong" if no other tag applies."""
    found = [
        ("no call", not trajectory.calls),
        ("malformed", any(turn.parsed.errors for turn in trajectory.turns)),
        ("tool failed", any(reply.status != "ok" for reply in trajectory.replies)),
        ("cut", trajectory.ending.kind == "truncated"),
    ]
    return tuple(tag for tag, so in found if so) or ("wrong",)


def rule_mutations(*, advice: Mapping[str, str] = ADVICE, longest: int = 120) -> Propose:
    """Make a mutation operator without a model: add advice against the most frequent failure.

        for each tag, the most frequent first: instruction + advice[tag], unless the instruction already contains it
        last: the instruction without one randomly drawn sentence

    Args:
        advice: one sentence per tag; tags without a sentence are skipped.
        longest: maximum length of a candidate in characters; longer candidates are skipped.

    Example:
        "Think." with two failures by "no call" and one by "cut"
        ->  "Think. Use a tool.", "Think. Be short."; from "Think. Use a tool." also "Think." or "Use a tool."

    Idea: the cheapest substitute for a model that reflects on failures.
    """

    def propose(instruction: str, failures: Sequence[Failure], seed: int) -> list[str]:
        counts = Counter(tag for one in failures for tag in one.tags)
        frequent = sorted(counts, key=lambda tag: (-counts[tag], tag))
        added = [
            f"{instruction} {advice[tag]}".strip()
            for tag in frequent
            if tag in advice and advice[tag] not in instruction
        ]
        sentences = [f"{one.strip()}." for one in instruction.split(".") if one.strip()]
        if len(sentences) > 1:
            del sentences[int(generator("by_rules", seed).integers(len(sentences)))]
            added.append(" ".join(sentences))
        return [one for one in added if len(one) <= longest]

    return propose
