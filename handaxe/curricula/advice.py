"""Failed attempts in short, and a way to better an instruction by rules that read them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from handaxe.core.records import Trajectory
from handaxe.ops.seeds import generator

__all__ = ["ADVICE", "Failure", "Propose", "by_rules", "failure_tags"]

ADVICE: Mapping[str, str] = {
    "no call": "Use a tool.",
    "malformed": "Write each call exactly.",
    "tool failed": "Copy every digit into the call.",
    "cut": "Be short.",
    "wrong": "Answer with what the tool says.",
}
"""A failure's tag -> a sentence that may help."""


class Failure(NamedTuple):
    """What is kept of an attempt that failed: under which instruction, at which task, what it said last, what it
    earned, and what went wrong."""

    instruction: str
    task: str
    said: str
    reward: float
    tags: tuple[str, ...]


Propose = Callable[[str, Sequence[Failure], int], list[str]]
"""(instruction, failures under it, seed) -> instructions that may be better, the most promising first."""


def failure_tags(trajectory: Trajectory) -> tuple[str, ...]:
    """What went wrong in an attempt, of the keys of ADVICE: "wrong" where nothing else did."""
    found = [
        ("no call", not trajectory.calls),
        ("malformed", any(turn.parsed.errors for turn in trajectory.turns)),
        ("tool failed", any(reply.status != "ok" for reply in trajectory.replies)),
        ("cut", trajectory.ending.kind == "truncated"),
    ]
    return tuple(tag for tag, so in found if so) or ("wrong",)


def by_rules(*, advice: Mapping[str, str] = ADVICE, longest: int = 120) -> Propose:
    """Make a mutation operator that needs no model: it adds what helps against the most frequent failure.

        for each tag, the most frequent first: the instruction and advice[tag], where it is not in there already
        last: the instruction without one of its sentences, drawn

    Args:
        advice: a sentence for each tag; tags without one are passed over.
        longest: characters; longer instructions are not proposed.

    Example:
        "Think." with two failures by "no call" and one by "cut"
        ->  "Think. Use a tool.", "Think. Be short."; from "Think. Use a tool." also "Think." or "Use a tool."

    Idea: the cheapest stand-in for a model that reflects on failures.
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
