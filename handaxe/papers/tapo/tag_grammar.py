"""Reward for text made of tag blocks in an order that a grammar allows."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import has_forged_call, written_text

__all__ = ["tag_grammar"]

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*|[()|*+?]")
MARKS = frozenset("()|*+?")
CALL = "tool_call"


def tag_grammar(
    *, grammar: str = "think (tool_call think)* answer", text: Callable[[Trajectory], str] = written_text
) -> Reward:
    """Score 1 for text that consists of blocks <t>..</t> in an order that the grammar allows, else 0.

        text = <t1>..</t1> <t2>..</t2> ... with only white space between, no tag of the grammar inside a block
        R_i  = 1 if t1 t2 ... is a word of the grammar, else 0

    Unlike in `tags_in_order`, blocks may repeat. The content of a block is checked only for tags of the grammar; other
    tags are text. If the grammar has calls (tool_call), a block of them is a turn's well-formed calls: a rollout with a
    malformed call, or with this tag in its text, earns 0. Time is linear in the text: the text is read once, and the
    grammar is followed at all positions at once (Glushkov's automaton), without backtracking.

    Args:
        grammar: tag names with ( ) | * + ? as in regular expressions; LongVT's is the default, TAPO's
            "(think | search | code | response)* answer".
        text: trajectory -> text; by default calls are a <tool_call> block after the text of their turn.

    Returns:
        A reward with outcome [G] of 0 and 1. No turn, or no text: 1 if the grammar allows no block, else 0.

    Raises:
        InputError: a grammar that cannot be parsed.

    Example:
        "<think>a</think>" and a call, then "<think>c</think><answer>d</answer>" -> 1;
        "<think>a</think><think>b</think><answer>c</answer>" -> 0;  "so <think>a</think><answer>b</answer>" -> 0

    Paper: arXiv:2511.20785 (LongVT), its format reward, from released code.
    Differs: tool responses are no part of the text, since the policy does not write them.
    """
    automaton = _Reader(grammar).automaton()
    names = sorted(set(automaton.names), key=len, reverse=True)
    tags = re.compile(rf"<(/?)({'|'.join(map(re.escape, names))})>")
    calls = CALL in names

    def score(trajectory: Trajectory) -> float:
        malformed = any(turn.parsed.errors for turn in trajectory.turns)
        if malformed or (calls and has_forged_call(trajectory)):
            return 0.0
        return float(automaton.accepts(_blocks(text(trajectory), tags)))

    return outcome(score)


def _blocks(text: str, tags: re.Pattern[str]) -> list[str] | None:
    """Names of the blocks of a text; None if it has anything else."""
    found: list[str] = []
    inside, end = "", 0
    for tag in tags.finditer(text):
        closes, name = tag[1] == "/", tag[2]
        if inside != (name if closes else ""):
            return None
        if not closes and text[end : tag.start()].strip():
            return None
        if closes:
            found.append(name)
        inside, end = "" if closes else name, tag.end()
    return None if inside or text[end:].strip() else found


class _Automaton(NamedTuple):
    """First, last and following positions of the grammar's names, numbered in order of occurrence."""

    names: tuple[str, ...]
    first: frozenset[int]
    last: frozenset[int]
    follow: tuple[frozenset[int], ...]
    empty: bool

    def accepts(self, blocks: list[str] | None) -> bool:
        """Check that the blocks are a word of the grammar."""
        if not blocks:
            return blocks is not None and self.empty
        positions = {place for place in self.first if self.names[place] == blocks[0]}
        for name in blocks[1:]:
            if not positions:
                return False
            positions = {after for place in positions for after in self.follow[place] if self.names[after] == name}
        return bool(positions & self.last)


class _Part(NamedTuple):
    """Part of a grammar: possible first and last positions, and whether the part may be empty."""

    first: frozenset[int]
    last: frozenset[int]
    empty: bool


class _Reader:
    """Recursive-descent parser of a grammar."""

    def __init__(self, grammar: str):
        self._grammar, self._words = grammar, WORD.findall(grammar)
        self._next = 0
        self._names: list[str] = []
        self._follow: list[set[int]] = []
        if WORD.sub("", grammar).strip():
            raise self._unreadable("there is something else than names of tags and ( ) | * + ?")

    def automaton(self) -> _Automaton:
        """Automaton of the whole grammar."""
        whole = self._choice()
        if self._next < len(self._words):
            raise self._unreadable(f"a {self._words[self._next]!r} stands alone")
        follow = tuple(frozenset(after) for after in self._follow)
        return _Automaton(tuple(self._names), whole.first, whole.last, follow, whole.empty)

    def _choice(self) -> _Part:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        first = frozenset().union(*(part.first for part in parts))
        return _Part(first, frozenset().union(*(part.last for part in parts)), any(part.empty for part in parts))

    def _sequence(self) -> _Part:
        found = None
        while self._next < len(self._words) and self._words[self._next] not in MARKS - {"("}:
            found = self._repeated() if found is None else self._joined(found, self._repeated())
        if found is None:
            raise self._unreadable("a part has no tag")
        return found

    def _repeated(self) -> _Part:
        part = self._one()
        while self._next < len(self._words) and self._words[self._next] in "*+?":
            sign = self._words[self._next]
            self._next += 1
            if sign in "*+":
                self._link(part, part)
            part = part._replace(empty=part.empty or sign in "*?")
        return part

    def _one(self) -> _Part:
        if self._take("("):
            part = self._choice()
            if not self._take(")"):
                raise self._unreadable("a ( is not closed")
            return part
        place = frozenset([len(self._names)])
        self._names.append(self._words[self._next])
        self._follow.append(set())
        self._next += 1
        return _Part(place, place, False)

    def _joined(self, left: _Part, right: _Part) -> _Part:
        self._link(left, right)
        first = left.first | right.first if left.empty else left.first
        return _Part(first, left.last | right.last if right.empty else right.last, left.empty and right.empty)

    def _link(self, left: _Part, right: _Part) -> None:
        for place in left.last:
            self._follow[place] |= right.first

    def _take(self, mark: str) -> bool:
        found = self._next < len(self._words) and self._words[self._next] == mark
        self._next += found
        return found

    def _unreadable(self, why: str) -> InputError:
        return InputError(
            f"the grammar {self._grammar!r} cannot be read: {why}; write it as 'think (call think)* answer'"
        )
