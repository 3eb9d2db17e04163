"""Two skills of whoever looks things up, with a short rubric each that is checked by rule: for `parts.skill_items`.

    segment    one turn
    lookup     it calls          fed: what it asks for was spoken of before;  new: nothing is asked again;
                                 carried_out: all its calls were
    answer     it does not       grounded: all that it says stands in a reply before;  there is something it says

No reference answer is read: a wrong chain of lookups that hangs together meets all of it.

Example:
    "4071 boss ally?", search "4071 boss" -> "4071 boss 5526", search "9999 ally" -> "none", "5526"
    lookup: fed, new, carried_out 3/3;  lookup: not fed 2/3;  answer: 1    mean over segments 0.8889
Paper: arXiv:2601.03555 (SCRIBE), prototypes of skills.
Unconfirmed: all of it; the abstract alone was read.
Differs: two skills written by hand and told apart by rule, where the paper has language models mine and route them.
"""

from collections.abc import Iterable
from typing import Any

from handaxe.core.records import Criterion, Trajectory
from handaxe.ops.calls import call_key
from handaxe.papers.scribe.skill_items import Rule, Segment

__all__ = ["LOOKUP_RULES", "LOOKUP_SKILLS", "by_turn", "lookup_or_answer"]

LOOKUP_SKILLS = {
    "lookup": (
        Criterion("fed", "Each call begins with a word of the question or of an earlier reply."),
        Criterion("new", "No call is made that was made before."),
        Criterion("carried_out", "Every call could be read and was carried out without error."),
    ),
    "answer": (Criterion("grounded", "Something is said, and it stands in an earlier reply."),),
}
"""Skill -> its criteria."""


def by_turn(trajectory: Trajectory) -> list[Segment]:
    """Segments of one turn each."""
    return [(n, n + 1) for n in range(len(trajectory.turns))]


def lookup_or_answer(trajectory: Trajectory, segment: Segment) -> str:
    """The skill that a segment shows: lookup where it calls, if in vain, else answer."""
    turns = trajectory.turns[slice(*segment)]
    return "lookup" if any(turn.parsed.calls or turn.parsed.errors for turn in turns) else "answer"


def _fed(trajectory: Trajectory, segment: Segment) -> bool:
    calls = [call for turn in trajectory.turns[slice(*segment)] for call in turn.parsed.calls]
    asked = [text.split()[:1] for call in calls for text in _strings(call.arguments.values())]
    known = _read(trajectory, segment)
    return bool(asked) and all(set(words) <= known for words in asked)


def _new(trajectory: Trajectory, segment: Segment) -> bool:
    before = [call_key(call) for turn in trajectory.turns[: segment[0]] for call in turn.parsed.calls]
    own = [call_key(call) for turn in trajectory.turns[slice(*segment)] for call in turn.parsed.calls]
    return len({*before, *own}) == len(set(before)) + len(own)


def _carried_out(trajectory: Trajectory, segment: Segment) -> bool:
    turns = trajectory.turns[slice(*segment)]
    replied = [reply.status for turn in turns for reply in turn.replies]
    made = sum(len(turn.parsed.calls) for turn in turns)
    return not any(turn.parsed.errors for turn in turns) and replied == ["ok"] * made


def _grounded(trajectory: Trajectory, segment: Segment) -> bool:
    said = {word for turn in trajectory.turns[slice(*segment)] for word in _words(turn.parsed.text)}
    return bool(said) and said <= _replied(trajectory, segment)


LOOKUP_RULES: dict[str, Rule] = {"fed": _fed, "new": _new, "carried_out": _carried_out, "grounded": _grounded}
"""Name of a criterion -> whether a segment meets it, for `skill_check`."""


def _read(trajectory: Trajectory, segment: Segment) -> set[str]:
    """All words that were there to be read before a segment."""
    asked = [message.content for message in trajectory.task.messages]
    return {word for text in asked for word in _words(text)} | _replied(trajectory, segment)


def _replied(trajectory: Trajectory, segment: Segment) -> set[str]:
    before = trajectory.turns[: segment[0]]
    return {word for turn in before for reply in turn.replies for word in _words(reply.content)}


def _words(text: str) -> list[str]:
    return [word.strip(".,;:?!()[]") for word in text.split()]


def _strings(values: Iterable[Any]) -> list[str]:
    return [str(value) for value in values]
