"""Readers: answer -> value. A reader gets sampled text or likelihoods, never the question."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from handaxe.asking.ask import AskAnswer
from handaxe.core.errors import InputError

__all__ = ["Reader", "Unreadable", "choice", "coverage", "expected", "json_object", "number", "probability"]

T = TypeVar("T")
Reader = Callable[[AskAnswer], T]
"""Raises Unreadable."""
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?![\w.]*\d)")
LIMIT = 65_536
"""Characters of an answer that are read."""


class Unreadable(Exception):
    """An answer without a value."""


def probability(yes: str = "yes", no: str = "no") -> Reader[float]:
    """Probability of a label against another.

        p = P(yes) / (P(yes) + P(no))

    A text answer counts as 1 or 0 by `choice`.

    Example:
        log-likelihoods -0.5 and -1.5  ->  sigmoid(1) = 0.7311
    """

    def read(answer: AskAnswer) -> float:
        if not answer.label_logp:
            return float(choice((yes, no))(answer) == yes)
        found = [answer.label_logp[name] for name in (yes, no)]
        if not all(math.isfinite(one) for one in found):
            raise Unreadable(f"the log-likelihoods of {yes} and {no} are {found}")
        return float(1 / (1 + np.exp(np.clip(found[1] - found[0], -700, 700))))

    return read


def expected(weights: Mapping[str, float]) -> Reader[float]:
    """Expected weight of a label.

        value = sum_l w_l P(l) / sum_l P(l)

    A text answer counts with the weight of its label, by `choice`.

    Args:
        weights: label -> weight, such as `Prompt.weights`.

    Example:
        weights 0, 0.5 and 1 of labels 0, 1 and 2 with P 0.1, 0.2 and 0.1  ->  (0.1 + 0.1) / 0.4 = 0.5
    """

    def read(answer: AskAnswer) -> float:
        if not answer.label_logp:
            return weights[choice(tuple(weights))(answer)]
        logp_L = np.array([answer.label_logp[name] for name in weights], np.float64)
        if np.isnan(logp_L).any() or not np.isfinite(logp_L.max()):
            raise Unreadable(f"the log-likelihoods of {', '.join(weights)} are {logp_L}")
        p_L = np.exp(logp_L - logp_L.max())
        return float(p_L @ np.array(list(weights.values())) / p_L.sum())

    return read


def coverage(answer: AskAnswer) -> float:
    """Compute the probability mass on the labels, in [0, 1]; NaN for a text."""
    return float(np.exp(np.logaddexp.reduce(list(answer.label_logp.values())))) if answer.label_logp else math.nan


def choice(labels: tuple[str, ...]) -> Reader[str]:
    """Read the only label among the words of a text, case-insensitive.

    Two different labels, and no label, are unreadable.

    Example:
        labels yes, no: "Yes." -> yes;  "yes or no" and "certainly" are unreadable
    """
    if len(set(labels)) < 2:
        raise InputError(f"a choice has two or more labels, not {labels}")

    def read(answer: AskAnswer) -> str:
        text = answer.text[:LIMIT].lower()
        found = [one for one in labels if re.search(rf"(?<!\w){re.escape(one.lower())}(?!\w)", text)]
        if len(found) != 1:
            raise Unreadable(f"the answer has {len(found)} of the labels {', '.join(labels)}")
        return found[0]

    return read


def number(low: float, high: float) -> Reader[float]:
    """Read the last number in a text. A number off the scale is unreadable and not clipped.

    Example:
        scale 0 to 10: "7 of 10, so 7" -> 7;  "11" and "seven" are unreadable
    """

    def read(answer: AskAnswer) -> float:
        found = NUMBER.findall(answer.text[:LIMIT])
        value = float(found[-1]) if found else math.nan
        if not low <= value <= high:
            raise Unreadable(f"the answer has no number from {low} to {high} at its end")
        return value

    return read


def json_object(types: Mapping[str, type]) -> Reader[dict[str, Any]]:
    """Read the last JSON object in a text, with keys of given types. Values are not repaired.

    Args:
        types: key -> type; further keys are dropped. A bool is no int.

    Example:
        {"steps": list}: 'Well: {"steps": [1, 0]}' -> {"steps": [1, 0]}
    """

    def read(answer: AskAnswer) -> dict[str, Any]:
        text = answer.text[:LIMIT]
        decoder = json.JSONDecoder()
        for place in [at for at, character in enumerate(text) if character == "{"][::-1]:
            try:
                found, _ = decoder.raw_decode(text, place)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict) and all(
                isinstance(found.get(key), kind) and (kind is bool or not isinstance(found[key], bool))
                for key, kind in types.items()
            ):
                return {key: found[key] for key in types}
        raise Unreadable(f"the answer has no JSON object with {', '.join(types)}")

    return read
