"""Answers the questions of a role: cache, batches, retries of unreadable answers, records."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from handaxe.asking.ask import Answerer, Ask, AskAnswer, FailureKind
from handaxe.asking.read import Reader, Unreadable, coverage
from handaxe.asking.store import AnswerStore
from handaxe.core.errors import InputError

__all__ = ["AskDesk", "AskRecord", "NoAnswer", "metrics_of"]

T = TypeVar("T")
MIN_COVERAGE = 0.2
RETRY_TEMPERATURE = 0.7
MOST_KNOWN = 1 << 16
"""Answers in memory."""
PROBED = 32
"""Answers after which the mean coverage is looked at, once."""


class NoAnswer(NamedTuple):
    """A question without a value: reason and text."""

    reason: FailureKind
    text: str = ""


class AskRecord(NamedTuple):
    """Record of a question: role, place, answer and value; None is the value of a failure."""

    role: str
    prompt: str
    key: str
    about: tuple[str, int, str]
    value: Any
    answer: AskAnswer


class AskDesk:
    """Answers questions of one answerer.

    Equal questions are asked once, also in later steps and, with a store, in later runs. After an unreadable answer the
    same question is asked with the next seed, up to `tries` times. A failure is never a value.

    Args:
        answerer: of the questions.
        store: answers of earlier runs; None for the answers of this process alone.
        tries: most answers to a question, 1 or more.
        budget: most tokens read and written by all answers; further questions fail. 0 for no limit.
        min_coverage: least mean probability mass on the labels, over the first 32 answers; 0 allows any.

    Raises:
        InputError: a number out of range; and while asking, labels whose mean coverage is below the least.

    Example:
        AskDesk(answerer).ask([ask], probability()) -> [0.73]
    """

    def __init__(
        self,
        answerer: Answerer,
        *,
        store: AnswerStore | None = None,
        tries: int = 2,
        budget: int = 0,
        min_coverage: float = MIN_COVERAGE,
    ):
        if tries < 1 or budget < 0 or not 0 <= min_coverage < 1:
            raise InputError(
                f"give tries from 1, a budget from 0 and a least coverage from 0 to below 1, not {tries}, {budget} and "
                f"{min_coverage}"
            )
        self.answerer = answerer
        self.store = store
        self._tries = tries
        self._budget = budget
        self._least = min_coverage
        self._known: dict[str, AskAnswer] = {}
        self._by = ""
        self._calls: list[AskRecord] = []
        self._coverages: list[float] = []
        self._tokens = 0
        self._lock = threading.Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> AskDesk:
        """Copies of a judge ask at the same desk."""
        return self

    def ask(self, asks: Sequence[Ask], read: Reader[T]) -> list[T | NoAnswer]:
        """Values of questions, in order; NoAnswer for a question without a value."""
        out: list[T | NoAnswer] = [NoAnswer("unreadable")] * len(asks)
        open_asks = dict(enumerate(asks))
        for attempt in range(self._tries):
            chosen = {k: _again(ask, attempt) for k, ask in open_asks.items()}
            answers = self._answers(list(chosen.values()))
            for k, (key, answer) in zip(chosen, answers, strict=True):
                out[k] = _value(answer, read)
                failed = isinstance(out[k], NoAnswer)
                self._note(asks[k], key, answer, None if failed else out[k])
                if not (failed and out[k].reason == "unreadable" and not asks[k].prompt.labels):  # type: ignore[union-attr]
                    del open_asks[k]
            if not open_asks:
                break
        return out

    def _answers(self, asks: Sequence[Ask]) -> list[tuple[str, AskAnswer]]:
        by = self.answerer.fingerprint()
        keys = [ask.key(by) for ask in asks]
        with self._lock:
            found = {key: replace(self._known[key], cached=True) for key in keys if key in self._known}
        if self.store is not None:
            found |= self.store.get([key for key in dict.fromkeys(keys) if key not in found])
        new = {key: ask for key, ask in zip(keys, asks, strict=True) if key not in found}
        if new and self._budget and self._tokens >= self._budget:
            made = [AskAnswer(by=by, failure="budget")] * len(new)
        else:
            made = self.answerer.answer(list(new.values())) if new else []
        fresh = dict(zip(new, made, strict=True))
        kept = {key: one for key, one in fresh.items() if not one.failure}
        with self._lock:
            if by != self._by:  # other weights give other answers
                self._known, self._by = {}, by
            self._known |= {**found, **kept}
            for key in list(self._known)[: max(0, len(self._known) - MOST_KNOWN)]:
                del self._known[key]  # the oldest; with a store, it is read there
            self._tokens += sum(one.spent.read + one.spent.written for one in fresh.values())
        if self.store is not None and kept:
            self.store.put([(key, new[key], one) for key, one in kept.items()])
        self._check_coverage(fresh.values(), asks)
        return [(key, found.get(key) or fresh[key]) for key in keys]

    def _check_coverage(self, answers: Any, asks: Sequence[Ask]) -> None:
        if len(self._coverages) >= PROBED or not self._least:
            return
        self._coverages += [value for one in answers if not np.isnan(value := coverage(one))]
        if len(self._coverages) >= PROBED and (mean := float(np.mean(self._coverages))) < self._least:
            raise InputError(
                f"the {asks[0].role} puts a mass of {mean:.2g} on the answers {', '.join(asks[0].prompt.labels)} "
                f"of {asks[0].prompt.name}, so their ratio means little: give another prompt, a fitted head "
                "(--judge head:tiny), a taught judge (--judge trained), or --judge-min-coverage 0"
            )

    def _note(self, ask: Ask, key: str, answer: AskAnswer, value: Any) -> None:
        with self._lock:
            self._calls.append(AskRecord(ask.role, ask.prompt.name, key, ask.about, value, answer))

    def take_calls(self) -> list[AskRecord]:
        """Records since the last call of this method."""
        with self._lock:
            taken, self._calls = self._calls, []
        return taken


def metrics_of(calls: Sequence[AskRecord]) -> dict[str, float]:
    """Counts of records: asks, cached, read, written, seconds, cost, coverage, and failures by reason."""
    paid = [one.answer for one in calls if not one.answer.cached]
    reasons = Counter(one.answer.failure or "unreadable" for one in calls if one.value is None)
    seen = [value for one in calls if not np.isnan(value := coverage(one.answer))]
    spent = [one.answer.spent for one in calls]
    return {
        "asks": float(len(calls)),
        "cached": float(len(calls) - len(paid)),
        "read": float(sum(one.read for one in spent)),
        "written": float(sum(one.written for one in spent)),
        "seconds": float(sum(one.spent.seconds for one in paid)),
        "cost": float(sum(one.spent.cost for one in paid)),
        **({"coverage": float(np.mean(seen))} if seen else {}),
        **{reason: float(count) for reason, count in reasons.items()},
    }


def _again(ask: Ask, attempt: int) -> Ask:
    """The question with another sample number; a greedy answer is sampled from the second attempt on."""
    if not attempt:
        return ask
    sampling = replace(ask.sampling, temperature=max(ask.sampling.temperature, RETRY_TEMPERATURE))
    return replace(ask, sample=ask.sample + attempt, sampling=sampling)


def _value(answer: AskAnswer, read: Reader[T]) -> T | NoAnswer:
    if answer.failure:
        return NoAnswer(answer.failure, answer.text)
    try:
        return read(answer)
    except Unreadable:
        return NoAnswer("unreadable", answer.text)
