"""Answers from the record of a run, for rewards that are computed again."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.store import StoredCall

__all__ = ["RecordedAnswerer"]


class RecordedAnswerer:
    """Repeats the recorded answers of a run, by trajectory, turn and criterion. Other questions fail.

    Args:
        calls: of the run, see `asking.store.read_calls`.

    Example:
        RecordedAnswerer(read_calls(path)).answer([ask])[0] is the answer about the same turn and criterion
    """

    def __init__(self, calls: Sequence[StoredCall]):
        self._known = {one.about: one.answer for one in calls if one.value is not None}
        self._terse = any(".terse@" in one.prompt for one in calls)

    @property
    def terse(self) -> bool:
        return self._terse

    def fingerprint(self) -> str:
        return "recorded"

    def answer(self, asks: Sequence[Ask]) -> list[AskAnswer]:
        missing = AskAnswer(by="recorded", failure="unavailable", text="the run did not ask this question")
        return [self._known.get(ask.about, missing) for ask in asks]
