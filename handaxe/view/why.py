"""Says what came of an attempt, and why it, or a part of it, got no gradient.

A token got one when it was trained, its advantage is not 0, and the loss moved it:

    got(t) = updated and trained_i and trains(t) and A(t) != 0 and pushed(t)

`trains` and `pushed` are all of the policy's tokens where a record does not keep them: before format 5 nothing says
what a loss clipped. Terms of a loss that ask for no advantage, such as a KL penalty, are no gradient here. Where the
loss has one, no token looks clipped, since the term moves what the clip stops.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from handaxe.core.records import STOPPED, Author, Trajectory
from handaxe.ops.returns import deviation
from handaxe.selection.mask_empty_turns import mask_empty_turns
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.training.record.groups import GroupRecord
from handaxe.training.record.run_record import RunRecord

__all__ = [
    "Kind",
    "OUTCOMES",
    "OutcomeClass",
    "Reason",
    "Silence",
    "StepFacts",
    "facts_of",
    "no_gradient",
    "outcome_class",
    "outcome_classes",
    "totals",
    "why",
]

OutcomeClass = Literal[
    "right", "wrong", "truncated", "policy_error", "stopped", "unscored", "infra_error", "verifier_error"
]
OUTCOMES: tuple[OutcomeClass, ...] = get_args(OutcomeClass)
Kind = Literal[
    "stopped",
    "infra_error",
    "verifier_error",
    "superseded",
    "dropped",
    "unscored",
    "surplus",
    "unselected",
    "equal_group",
    "lone",
    "void_turn",
    "truncated",
    "stale",
    "masked",
    "not_updated",
    "expert",
    "forced",
    "no_tokens",
    "zero_advantage",
    "clipped",
]

TEXTS: Mapping[Kind, str] = {
    "stopped": "It was stopped, or ended too late: its group no longer needed it.",
    "infra_error": "The machinery failed, not the policy: it is never scored.",
    "verifier_error": "The reward could not decide it: it is never scored.",
    "superseded": "It was tried again, and the attempt that took its place counts.",
    "dropped": "Its whole group was dropped, since on_ending drops a group with an attempt that ended so.",
    "unscored": "The reward gave it no score.",
    "surplus": "Its group was beyond the groups that the step needed.",
    "unselected": "The selection left its group out.",
    "equal_group": "All its scored siblings earned the same, so there is nothing to compare.",
    "lone": "It is the only one of its group that was scored, and has nothing to be compared with.",
    "void_turn": "A turn of it holds neither a call nor an answer.",
    "truncated": "It was cut, and attempts that are cut are not trained.",
    "stale": "Its oldest token is older than the bound on staleness.",
    "masked": "It was scored and counted, and left out of the loss.",
    "not_updated": "The step trained nothing.",
    "expert": "An expert wrote it, not the policy.",
    "forced": "A search wrote it in the policy's turn, and such tokens do not train here.",
    "no_tokens": "The policy wrote nothing of it.",
    "zero_advantage": "Its advantage is 0 at every token that trains.",
    "clipped": "The loss stopped every token that has an advantage, as a clip or a mask on ratios does.",
}
ALL_THE_SAME = "Another term of the loss, such as a KL penalty, moved it all the same."
BY: Mapping[str, Kind] = {mask_empty_turns.__name__: "void_turn", mask_overlong.__name__: "truncated"}
"""What it means that one of these selectors left an attempt out."""
RETRY = re.compile(r"\d+/retry-(\d+)(?:/|$)")


class Reason(NamedTuple):
    """Why there was no gradient: its kind, a sentence for a person, and the selector that did it, if one did."""

    kind: Kind
    text: str
    by: str = ""


class StepFacts(NamedTuple):
    """What must be known of a step besides its groups.

    updated    whether an optimiser step was taken
    staleness  most steps that a trained token may be old; None: no bound
    """

    updated: bool = True
    staleness: int | None = None


FACTS = StepFacts()


class Silence(NamedTuple):
    """Why an attempt got no gradient, as a whole and in its parts; None where it got one.

    whole   of the attempt
    rows    of each sequence
    turns   of each turn of the policy
    tokens  per sequence [T] bool: the tokens that got one
    """

    whole: Reason | None
    rows: tuple[Reason | None, ...]
    turns: tuple[Reason | None, ...]
    tokens: tuple[np.ndarray, ...]


def outcome_class(trajectory: Trajectory, total: float | None, *, right: float = 0.5) -> OutcomeClass:
    """What came of an attempt, in a word.

    Args:
        total: what it earned in all, its turns included; None or NaN: it was not scored.
        right: an attempt that earned more is right, however it ended.

    Example:
        completed, 1.0 -> right; truncated by length, 0.0 -> truncated; by "stopped" -> stopped; infra_error ->
        infra_error
    """
    kind = trajectory.ending.kind
    if trajectory.ending == STOPPED:
        return "stopped"
    if kind == "infra_error" or kind == "verifier_error":
        return kind
    if total is None or np.isnan(total):
        return "unscored"
    if total > right:
        return "right"
    return kind if kind == "truncated" or kind == "policy_error" else "wrong"


def outcome_classes(record: GroupRecord, *, right: float = 0.5) -> list[OutcomeClass]:
    """What came of each sibling of a group."""
    earned = np.full(len(record.group), np.nan)
    earned[record.scored] = totals(record)
    return [outcome_class(one, total, right=right) for one, total in zip(record.group, earned, strict=True)]


def no_gradient(record: GroupRecord, facts: StepFacts = FACTS) -> list[str]:
    """Of each sibling in a word or two why it got no gradient; "" where it got one."""
    reasons = [why(record, index, facts).whole for index in range(len(record.group))]
    return ["" if one is None else one.kind.replace("_", " ") for one in reasons]


def facts_of(record: RunRecord, step: int) -> StepFacts:
    """What `why` must know of a step, from the run's record and its recipe.json."""
    found = record.query("SELECT value FROM metrics WHERE step = ? AND name = 'optimiser_steps'", step)
    pace: Any = record.about().get("arguments", {}).get("pace")
    pace = pace if isinstance(pace, Mapping) else {}
    carried = pace.get("segment_tokens") is not None or pace.get("segment_calls") is not None
    return StepFacts(not found or found[0][0] != 0, None if carried else pace.get("staleness"))


def why(record: GroupRecord, index: int, facts: StepFacts = FACTS) -> Silence:
    """Why a sibling, each of its rows and each of its turns got no gradient.

    Args:
        record: the group as its step left it.
        index: which of its trajectories.
        facts: of the step; see `facts_of`.

    Returns:
        A row or turn of an attempt that got none has the attempt's reason.

    Example:
        outcomes 1 and 1 -> both equal_group; outcomes 1 and 0, the second cut, under mask_overlong -> the first None,
        the second truncated by mask_overlong
    """
    trajectory = record.group[index]
    seen = _Seen.of(record, index)
    got = tuple(one & facts.updated for one in seen.got())
    whole = None if any(one.any() for one in got) else _whole(record, index, seen, facts)
    rows = tuple(
        None if one.any() else whole or _part(record, index, seen, s, slice(None)) for s, one in enumerate(got)
    )
    spans = [(turn.sequence, slice(turn.start, turn.stop)) for turn in trajectory.turns]
    turns = tuple(None if got[s][part].any() else whole or _part(record, index, seen, s, part) for s, part in spans)
    return Silence(whole, rows, turns, got)


class _Seen(NamedTuple):
    """What the loss saw of an attempt, per sequence [T]: the policy's tokens, which of them trained, their advantages,
    and which of them the loss moved."""

    own: tuple[np.ndarray, ...]
    trained: tuple[np.ndarray, ...]
    advantages: tuple[np.ndarray, ...]
    pushed: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, record: GroupRecord, index: int) -> "_Seen":
        trajectory, k = record.group[index], _place(record, index)
        own = tuple(sequence.mask for sequence in trajectory.sequences)
        trains, advantages = own, tuple(np.zeros(len(mask)) for mask in own)
        if record.advantages is not None and k is not None:
            advantages = record.advantages.tokens[k]
            if record.advantages.trains is not None:
                trains = tuple(a & b for a, b in zip(own, record.advantages.trains[k], strict=True))
        pushed = None if record.pushed is None else record.pushed[index]
        everything = tuple(np.ones(len(mask), bool) for mask in own)
        return cls(own, tuple(one & record.trained[index] for one in trains), advantages, pushed or everything)

    def got(self) -> Iterator[np.ndarray]:
        for trained, advantages, pushed in zip(self.trained, self.advantages, self.pushed, strict=True):
            yield trained & (advantages != 0) & pushed


def _whole(record: GroupRecord, index: int, seen: _Seen, facts: StepFacts) -> Reason:
    """Of an attempt that got no gradient at all."""
    earned = totals(record)
    k = _place(record, index)
    if k is None or np.isnan(earned[k]):
        return _unscored(record, index)
    if not record.trained[index]:
        return _left_out(record, index, earned, facts)
    if not facts.updated:
        return _reason("not_updated")
    if not any(one.any() for one in seen.trained):
        found = [_untrained(record, index, seen, s, slice(None)) for s in range(len(seen.own))]
        return next((one for one in found if one.kind in ("masked", "forced")), found[0])
    if not any((a[b] != 0).any() for a, b in zip(seen.advantages, seen.trained)):
        still = _reason(_nothing_to_compare(earned) or "zero_advantage")
        moved = record.pushed is not None and any(one.any() for one in record.pushed[index] or ())
        return still._replace(text=f"{still.text} {ALL_THE_SAME}") if moved else still
    return _reason("clipped")


def _unscored(record: GroupRecord, index: int) -> Reason:
    trajectory = record.group[index]
    kind = trajectory.ending.kind
    if trajectory.ending == STOPPED:
        return _reason("stopped")
    if kind == "infra_error" or kind == "verifier_error":
        return _reason(kind)
    if any(one.sample == trajectory.sample and _retry(one) > _retry(trajectory) for one in record.group):
        return _reason("superseded")
    if record.fate == "dropped":
        return _reason("dropped")
    # What ended in the instant in which its group was decided was put aside, unscored, beside siblings that were.
    return _reason("unscored" if record.scored[index] or not record.scored.any() else "stopped")


def _left_out(record: GroupRecord, index: int, earned: np.ndarray, facts: StepFacts) -> Reason:
    """Of an attempt that was scored and did not train."""
    by = "" if record.left_out_by is None else record.left_out_by[index]
    kind = BY.get(by)
    if kind is not None:
        return _reason(kind, by)
    if record.ages is not None and facts.staleness is not None and record.ages[index] > facts.staleness:
        return _reason("stale", by)
    if record.fate == "surplus":
        return _reason("surplus")
    if record.fate == "unselected":
        return _reason(_nothing_to_compare(earned) or "unselected", by)
    if not by and record.group[index].ending.kind == "truncated":
        return _reason("truncated", "on_ending")
    return _reason("masked", by or ("on_ending" if record.left_out_by is not None else ""))


def _nothing_to_compare(earned: np.ndarray) -> Literal["equal_group", "lone"] | None:
    counted = earned[~np.isnan(earned)]
    if len(counted) == 1:
        return "lone"
    return "equal_group" if deviation(counted) == 0 else None


def _part(record: GroupRecord, index: int, seen: _Seen, s: int, part: slice) -> Reason:
    """Of tokens without a gradient, in an attempt that got one elsewhere."""
    trained = seen.trained[s][part]
    if not trained.any():
        return _untrained(record, index, seen, s, part)
    return _reason("clipped" if (seen.advantages[s][part][trained] != 0).any() else "zero_advantage")


def _untrained(record: GroupRecord, index: int, seen: _Seen, s: int, part: slice) -> Reason:
    author, own = record.group[index].sequences[s].author[part], seen.own[s][part]
    if not own.any():
        return _reason("expert" if (author == Author.EXPERT).any() else "no_tokens")
    if (author[own] == Author.FORCED).all():
        return _reason("forced")
    return _reason("masked", "" if record.left_out_by is None else record.left_out_by[index])


def totals(record: GroupRecord) -> np.ndarray:
    """What each scored sibling earned in all; NaN where the reward gave it no score."""
    scores = record.scores
    if scores is None:
        return np.full(int(record.scored.sum()), np.nan)
    turns = 0.0 if scores.turns is None else np.array([float(np.sum(own)) for own in scores.turns])
    return np.asarray(scores.outcome, np.float64) + turns


def _place(record: GroupRecord, index: int) -> int | None:
    """Which of the scored siblings it is."""
    return int(np.count_nonzero(record.scored[:index])) if record.scored[index] else None


def _reason(kind: Kind, by: str = "") -> Reason:
    return Reason(kind, TEXTS[kind], by)


def _retry(trajectory: Trajectory) -> int:
    """Which try of its attempt it is, from 0. An id is STEP/TASK/SAMPLE, then /retry-N, then what forks it; the id of a
    task may hold anything."""
    found = RETRY.match(trajectory.id.partition(f"/{trajectory.task.id}/")[2])
    return int(found[1]) if found else 0
