"""Reply of a listwise judge: a thought, a score for each response, and the responses from best to worst."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["ParsedRanking", "read_ranking"]

THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
FENCE = re.compile(r"```(?:json)?")


class ParsedRanking(NamedTuple):
    """Reply of a judge.

    scores    name -> score; None without the key "scores", {} for a value that is no object
    ranking   names from best to worst; None without the key "best-to-worst"
    parsed    the text after the thought holds a JSON object
    searched  the object was found by a search for brackets
    """

    scores: Mapping[str, float] | None = None
    ranking: tuple[str, ...] | None = None
    parsed: bool = False
    searched: bool = False


def read_ranking(text: str) -> ParsedRanking:
    """Read the JSON object after the thought of a reply; of a text around it, from the first to the last bracket.

    Scores that are no finite numbers, and names that are no strings, are left out.

    Args:
        text: of the judge.

    Example:
        '<think>b is short</think>{"scores": {"a": 1, "b": 4}, "best-to-worst": ["b", "a"]}'  ->  scores a 1 and b 4,
        ranking b, a

    Paper: arXiv:2506.03637 (RewardAnything), the reader of its released code.
    Differs: single quotes, missing quotes and trailing commas are not repaired.
    """
    rest = FENCE.sub("", THOUGHT.sub("", text)).strip()
    found, searched = _load(rest), False
    if found is None and "{" in rest:
        found, searched = _load(rest[rest.index("{") : rest.rindex("}") + 1 if "}" in rest else 0]), True
    if not found:
        return ParsedRanking()
    scores, ranking = found.get("scores"), found.get("best-to-worst")
    return ParsedRanking(
        _numbers(scores) if "scores" in found else None,
        tuple(name for name in ranking if isinstance(name, str)) if isinstance(ranking, list) else None,
        True,
        searched,
    )


def _load(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _numbers(scores: Any) -> dict[str, float]:
    if not isinstance(scores, dict):
        return {}
    return {name: float(value) for name, value in scores.items() if _is_number(value)}


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e9 and math.isfinite(value)
