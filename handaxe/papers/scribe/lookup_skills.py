"""Two lookup skills with a rubric each, checked by rule, for `papers.scribe.skill_items`.

    segment    one turn
    lookup     a turn with calls   fed: its query was mentioned before;  new: it repeats no call;
                                   carried_out: all its calls were executed
    answer     any other turn      grounded: it has text, and all of the text occurs in an earlier reply

No reference answer is read: a wrong chain of lookups that is consistent satisfies every criterion.

Example:
    "4071 boss ally?", search "4071 boss" -> "4071 boss 5526", search "9999 ally" -> "none", "5526"
    lookup: fed, new, carried_out 3/3;  lookup: not fed 2/3;  answer: 1    mean over segments 0.8889
Paper: arXiv:2601.03555 (SCRIBE), prototypes of skills.
Unconfirmed: all of it; only the abstract was available.
Differs: two skills written by hand and routed by rule; the paper's language models mine and route them.
"""

from collections.abc import Iterable
from typing import Any

from handaxe.core.records import Criterion, Trajectory
from handaxe.ops.tool_calls import call_key
from handaxe.papers.scribe.skill_items import Rule, Segment

__all__ = ["LOOKUP_RULES", "LOOKUP_SKILLS", "lookup_or_answer", "single_turns"]

LOOKUP_SKILLS = {
    "lookup": (
        Criterion("fed", "Each call begins with a word of the question or of an earlier reply."),
        Criterion("new", "No call is made that was made before."),
        Criterion("carried_out", "Every call could be read and was carried out without error."),
    ),
    "answer": (Criterion("grounded", "Something is said, and it stands in an earlier reply."),),
}
"""Skill -> its criteria."""


def single_turns(trajectory: Trajectory) -> list[Segment]:
    """Split a trajectory into single turns."""
    return [(n, n + 1) for n in range(len(trajectory.turns))]


def lookup_or_answer(trajectory: Trajectory, segment: Segment) -> str:
    """Skill of a segment: lookup if it has a call, well formed or not, else answer."""
    turns = trajectory.turns[slice(*segment)]
    return "lookup" if any(turn.parsed.calls or turn.parsed.errors for turn in turns) else "answer"


def _fed(trajectory: Trajectory, segment: Segment) -> bool:
    calls = [call for turn in trajectory.turns[slice(*segment)] for call in turn.parsed.calls]
    texts = [text.split()[:1] for call in calls for text in _strings(call.arguments.values())]
    known = _read(trajectory, segment)
    return bool(texts) and all(set(words) <= known for words in texts)


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
    words_said = {word for turn in trajectory.turns[slice(*segment)] for word in _words(turn.parsed.text)}
    return bool(words_said) and words_said <= _replied(trajectory, segment)


LOOKUP_RULES: dict[str, Rule] = {"fed": _fed, "new": _new, "carried_out": _carried_out, "grounded": _grounded}
"""Name of a criterion -> predicate of a segment, for `skill_check`."""


def _read(trajectory: Trajectory, segment: Segment) -> set[str]:
    """All words that the policy could read before a segment."""
    texts = [message.content for message in trajectory.task.messages]
    return {word for text in texts for word in _words(text)} | _replied(trajectory, segment)


def _replied(trajectory: Trajectory, segment: Segment) -> set[str]:
    before = trajectory.turns[: segment[0]]
    return {word for turn in before for reply in turn.replies for word in _words(reply.content)}


def _words(text: str) -> list[str]:
    return [word.strip(".,;:?!()[]") for word in text.split()]


def _strings(values: Iterable[Any]) -> list[str]:
    return [str(value) for value in values]
