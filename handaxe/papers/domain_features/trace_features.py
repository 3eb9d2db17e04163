"""Features of tool traces that experts name: calls, failures, evidence, form and length of the answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from handaxe.core.records import Trajectory

__all__ = ["Feature", "TRACE_FEATURES", "trace_features"]

NUMBER = re.compile(r"-?[0-9]+")


class Feature(NamedTuple):
    """A named number of a rollout; `reads` names what the rule reads, and never the reference answer."""

    name: str
    value: Callable[[Trajectory], float]
    reads: str


def _calls(one: Trajectory) -> float:
    return float(len(one.calls))


def _failures(one: Trajectory) -> float:
    """Share of turns with a malformed or failed call."""
    bad = [bool(turn.parsed.errors) or any(own.status != "ok" for own in turn.replies) for turn in one.turns]
    return sum(bad) / len(bad) if bad else 0.0


def _in_reply(one: Trajectory) -> float:
    """1 if the answer is the text of a reply with status ok."""
    answer = one.final_text.strip()
    return float(bool(answer) and any(own.status == "ok" and own.content.strip() == answer for own in one.replies))


def _covered(one: Trajectory) -> float:
    """Share of the numbers of the question that occur in one call together with the others; the best call counts."""
    asked = _numbers(one.task.messages[-1].content if one.task.messages else "")
    if not asked:
        return 0.0
    found = [_numbers(" ".join(str(value) for value in call.arguments.values())) for call in one.calls]
    return max((len(asked & own) / len(asked) for own in found), default=0.0)


def _is_number(one: Trajectory) -> float:
    return float(bool(NUMBER.fullmatch(one.final_text.strip())))


def _length(one: Trajectory) -> float:
    return float(one.num_tokens)


def _finished(one: Trajectory) -> float:
    return float(one.ending.kind == "completed")


TRACE_FEATURES = (
    Feature("calls", _calls, "calls"),
    Feature("failures", _failures, "statuses of replies and errors of parsing"),
    Feature("in_reply", _in_reply, "the answer and the replies"),
    Feature("covered", _covered, "the question and the arguments of calls"),
    Feature("is_number", _is_number, "the answer"),
    Feature("length", _length, "sampled tokens"),
    Feature("finished", _finished, "the ending"),
)
"""Seven features, as many as the paper has for summaries of opinions."""


def trace_features(features: Sequence[Feature] = TRACE_FEATURES) -> Callable[[Trajectory], tuple[float, ...]]:
    """Make a function from a rollout to its features, for `judges.feature_net`.

    Args:
        features: in the order of the numbers.

    Returns:
        Rollout -> one number a feature.

    Example:
        "3*4 =" with the call 3*4, the reply 12 and the answer 12: calls 1, failures 0, in_reply 1, covered 1

    Paper: arXiv:2402.15473, features of experts as the bottleneck of a reward model.
    Unconfirmed: the names of the paper's features.
    Differs: rules compute features of tool traces; a model trained on synthetic ratings scores the paper's features.
    """
    return lambda one: tuple(feature.value(one) for feature in features)


def _numbers(text: str) -> set[str]:
    return set(NUMBER.findall(text.replace("-", " ")))
