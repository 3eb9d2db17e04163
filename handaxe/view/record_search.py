"""Searches trajectories of a run's record by actions, text and reward, without reading tokens.

    search(record, Where(tool="search", outcome="incorrect", step=(3, 9)), order="score", descending=True, most=50)
    search(record, parse_where('tool:search outcome:incorrect step:3..9 "no results"'))

A record of the current format has an index of all columns of the table: counting and sorting 100,000 trajectories reads
no conversation. Older records can be searched too, but slower. `view.parse_where` parses a query in one line.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ToolCall
from handaxe.ops import codec
from handaxe.training.record.groups import Fate
from handaxe.training.record.run_record import RunRecord
from handaxe.training.record.writing import TURN_REWARD
from handaxe.view.why import OUTCOMES

__all__ = ["FoundRow", "MOST_WORDS", "ORDERS", "Where", "count", "keys", "read_found", "search"]

Bounds = tuple[float | None, float | None]
"""Inclusive lower and upper bound; None for no bound."""
Key = int | float | str | bytes | None
LONGEST = 1000
"""Limit of characters of a word."""
MOST_WORDS = 50
"""Limit of words of a search: SQLite limits the depth of a condition."""
BATCH = 500
"""Rows read per query."""


@dataclass(frozen=True, kw_only=True)
class Where:
    """Query for trajectories; default values match everything.

    Args:
        text: words, and phrases in double quotes, that must all appear in the conversation, calls and replies included;
            case is ignored.
        tool: name of a called tool.
        outcome: one of `view.why.OUTCOMES`, or "scored".
        fate: of the group; see `training.record.groups`.
        task: id of the task.
        step: bounds of the training step.
        score: bounds of the total reward, turn rewards included. Unscored trajectories match no bounds.
        trained: True for trajectories with tokens in the loss.
        group: row of the group, see `FoundRow.group`.
        right: trajectories with a larger total reward are correct.

    Raises:
        InputError: an outcome or a fate does not exist, a word is too long, or the text has too many words.
    """

    text: str = ""
    tool: str = ""
    outcome: str = ""
    fate: str = ""
    task: str = ""
    step: Bounds = (None, None)
    score: Bounds = (None, None)
    trained: bool | None = None
    group: int | None = None
    right: float = 0.5

    def __post_init__(self) -> None:
        for name, value, there in (
            ("outcome", self.outcome, (*OUTCOMES, "scored")),
            ("fate", self.fate, get_args(Fate)),
        ):
            if value and value not in there:
                raise InputError(f"there is no {name} {value!r}; give one of {', '.join(there)}")
        words = _words(self.text)
        if len(words) > MOST_WORDS:
            raise InputError(
                f"a search of {len(words)} words is too long; give at most {MOST_WORDS}, or a phrase in double quotes"
            )
        if any(len(word) > LONGEST for word in words):
            raise InputError(f"a word to search for has more than {LONGEST} characters; give a part of it")


class FoundRow(NamedTuple):
    """Row of the table of trajectories.

    `key`: row in the record, argument of `RunRecord.group_of`. `group`: row of the group. `score`: total reward, NaN
    for an unscored trajectory.
    """

    key: int
    group: int
    step: int
    task: str
    id: str
    sample: int
    ending: str
    reason: str
    outcome: str
    score: float
    scored: bool
    trained: bool
    fate: str
    turns: int
    calls: int
    tokens: int
    cost: float
    seconds: float
    final_text: str


ORDERS = ("step", "task", "outcome", "score", "trained", "fate", "turns", "calls", "tokens", "cost", "seconds")
"""Sort keys of `search`."""


def search(
    record: RunRecord, where: Where, *, order: str = "step", descending: bool = False, first: int = 0, most: int = 100
) -> list[FoundRow]:
    """Find matching trajectories, sorted: at most `most`, starting at index `first`.

    Raises:
        InputError: the sort key does not exist.
    """
    return read_found(
        record, keys(record, where, order=order, descending=descending, first=first, most=most), right=where.right
    )


def keys(
    record: RunRecord, where: Where, *, order: str = "step", descending: bool = False, first: int = 0, most: int = -1
) -> list[int]:
    """Find row numbers of matching trajectories in the order of `search`; `most` -1 means no limit.

    Raises:
        InputError: the sort key does not exist.
    """
    if order not in ORDERS:
        raise InputError(f"there is no order {order!r}; give one of {', '.join(ORDERS)}")
    asked = _Query(record, where)
    by = {"step": "g.step", "task": "g.task_id", "fate": "g.fate", "score": asked.score, "outcome": asked.outcome}
    columns = {"turns": "t.num_turns", "calls": "t.num_calls", "tokens": "t.num_tokens"}
    column, turned = (by | columns).get(order, f"t.{order}"), " DESC" if descending else ""
    sorted_by = f"{column}{turned}, g.id{turned}, t.id{turned}"
    query = f"SELECT t.id FROM {TABLES} WHERE {asked.condition} ORDER BY {sorted_by} LIMIT ? OFFSET ?"
    return [int(key) for (key,) in record.query(query, *asked.keys, most, first)]


def read_found(record: RunRecord, keys: Sequence[int], *, right: float = 0.5) -> list[FoundRow]:
    """Read the trajectories of row numbers, in order. Removed rows are skipped."""
    asked = _Query(record, Where(right=right))
    found: dict[int, FoundRow] = {}
    for start in range(0, len(keys), BATCH):
        found |= asked.read(keys[start : start + BATCH])
    return [found[key] for key in keys if key in found]


def count(record: RunRecord, where: Where) -> int:
    """Count matching trajectories."""
    asked = _Query(record, where)
    return int(record.query(f"SELECT count(*) FROM {TABLES} WHERE {asked.condition}", *asked.keys)[0][0])


TABLES = "groups g JOIN trajectories t ON t.group_id = g.id"
SHOWN = (
    "t.id, g.id, g.step, g.task_id, t.name, t.sample, t.ending, t.reason, {outcome}, {score}, t.scored, t.trained, "
    "g.fate, t.num_turns, t.num_calls, t.num_tokens, t.cost, t.seconds, t.final_text"
)


class _Query:
    """A query as SQL for a record of any format. Values are bound parameters."""

    def __init__(self, record: RunRecord, where: Where):
        self._record = record
        record.function("sum_of", _sum_of, arguments=1)
        record.function("calls_tool", _calls_tool, arguments=2)
        record.function("says", _says, arguments=2)
        there = record.columns("trajectories")
        self.score = _score("total" in there)
        self._tool = "calls_tool(t.messages, ?)"
        if "called" in there:
            self._tool = f"CASE WHEN t.called IS NULL THEN {self._tool} ELSE instr(t.called, ?) > 0 END"
        right = float(where.right)
        self.outcome = _outcome(self.score, right)
        self.keys: list[Key] = []
        self.condition = " AND ".join(self._conditions(where, "called" in there)) or "1"

    def _conditions(self, where: Where, kept: bool) -> Iterator[str]:
        """The conditions, the cheap ones first."""
        for column, value in (("g.id", where.group), ("t.trained", where.trained), ("g.fate", where.fate or None)):
            if value is not None:
                self.keys.append(value)
                yield f"{column} = ?"
        if where.task:
            self.keys.append(codec.dump_text(where.task))
            yield "g.task_id = ?"
        for column, (low, high) in (("g.step", where.step), (self.score, where.score)):
            for sign, bound in ((">=", low), ("<=", high)):
                if bound is not None:
                    self.keys.append(bound)
                    yield f"{column} {sign} ?"
        if where.outcome == "scored":
            yield f"{self.score} IS NOT NULL"
        elif where.outcome:
            self.keys.append(where.outcome)
            yield f"{self.outcome} = ?"
        if where.tool:
            self.keys += [where.tool, *([json.dumps(where.tool)] if kept else [])]
            yield self._tool
        for word in _words(where.text):
            condition, keys = _said(word)
            self.keys += keys
            yield condition

    def read(self, keys: Sequence[int]) -> dict[int, FoundRow]:
        """Read rows by number."""
        shown = SHOWN.format(outcome=self.outcome, score=self.score)
        query = f"SELECT {shown} FROM {TABLES} WHERE t.id IN ({', '.join('?' * len(keys))})"
        return {int(row[0]): _found(row) for row in self._record.query(query, *keys)}


def _found(row: Sequence[Any]) -> FoundRow:
    texts = {place: codec.load_text(row[place] or "") for place in (3, 4, 7, 18)}
    score = float("nan") if row[9] is None else float(row[9])
    values: list[Any] = [texts.get(place, value) for place, value in enumerate(row)]
    values[9:12] = [score, bool(row[10]), bool(row[11])]
    return FoundRow(*values)


def _score(kept: bool) -> str:
    """SQL of the total reward; NULL for an unscored trajectory. Older records store only the summands."""
    turns = f"(SELECT sum_of(data) FROM turn_scores WHERE trajectory = t.id AND name = '{TURN_REWARD}')"
    made = f"CASE WHEN t.outcome IS NULL THEN NULL ELSE t.outcome + ifnull({turns}, 0.0) END"
    return f"ifnull(t.total, {made})" if kept else made


def _outcome(score: str, right: float) -> str:
    """SQL of `view.why.outcome_class`."""
    return (
        "CASE WHEN t.ending = 'truncated' AND t.reason = 'stopped' THEN 'stopped' "
        "WHEN t.ending IN ('infra_error', 'verifier_error') THEN t.ending "
        f"WHEN {score} IS NULL THEN 'unscored' WHEN {score} > {right!r} THEN 'correct' "
        "WHEN t.ending IN ('truncated', 'policy_error') THEN t.ending ELSE 'incorrect' END"
    )


# --- words -------------------------------------------------------------------------------------------------------

SKELETON = codec.dump_record((Message("assistant", "", (ToolCall("", {}),)), Message("tool", ""))).lower()
"""JSON text of every stored conversation that is not content."""


def _said(word: str) -> tuple[str, list[Key]]:
    """SQL condition: the conversation contains a word.

    A pattern over the JSON text finds candidates fast. If the word may match the JSON syntax, such as field names, an
    escape like \\n, or digests of images, the conversation is parsed.
    """
    kept = list(dict.fromkeys(json.dumps(one)[1:-1] for one in (word, word.lower(), word.upper(), word.title())))
    kept = kept if not word.isascii() else kept[:1]  # LIKE knows upper and lower case of ASCII
    candidates = " OR ".join("t.messages LIKE ? ESCAPE '!'" for _ in kept)
    keys: list[Key] = [f"%{_literal(one)}%" for one in kept]
    if kept[0].lower() in SKELETON or not word.isascii():
        return f"CASE WHEN {candidates} THEN says(t.messages, ?) ELSE 0 END", [*keys, word]
    within = [f"%\\{gap}{_literal(kept[0])}%" for gap in ("", "u", "u_", "u__", "u___")]
    within.append(f"%{_literal('__image__')}%")
    doubtful = " OR ".join("t.messages LIKE ? ESCAPE '!'" for _ in within)
    return (
        f"CASE WHEN {candidates} THEN CASE WHEN {doubtful} THEN says(t.messages, ?) ELSE 1 END ELSE 0 END",
        [*keys, *within, word],
    )


def _literal(text: str) -> str:
    return re.sub(r"([!%_])", r"!\1", text)


def _words(text: str) -> list[str]:
    return [phrase or word for phrase, word in re.findall(r'"([^"]+)"|([^\s"]+)', text)]


def _says(messages: str, word: str) -> bool:
    wanted = word.casefold()
    return any(wanted in text.casefold() for message in json.loads(messages) for text in _texts(message))


def _texts(value: Any) -> Iterator[str]:
    """All content of a message: text, and names and arguments of calls."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and "role" in value:
        yield str(value["content"])
        yield from _texts([[call["name"], call["arguments"]] for call in value.get("calls", ())])
    elif isinstance(value, Mapping):
        yield from _texts([part for item in value.items() for part in item])
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield json.dumps(value)


def _calls_tool(messages: str, name: str) -> bool:
    return any(call["name"] == name for message in json.loads(messages) for call in message.get("calls", ()))


def _sum_of(data: bytes) -> float:
    return float(np.sum(codec.unpack(data)))
