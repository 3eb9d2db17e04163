"""Outcome classes of rollouts, and reasons for a missing gradient of a rollout, a row or a turn.

A token has a gradient if the token was trained, the advantage is not 0, and the loss has a gradient at the token:

    got(t) = updated and trained_i and trains(t) and A(t) != 0 and pushed(t)

`trains` and `pushed` are all tokens of the policy in records without these fields; records before format 5 have no
clipped tokens. Loss terms without advantage, such as a KL penalty, do not count as gradient. With such a term no token
counts as clipped, since the term also moves clipped tokens.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from handaxe.core.records import STOPPED, Author, Trajectory
from handaxe.ops.returns import standard_deviation
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
    "correct", "incorrect", "truncated", "policy_error", "stopped", "unscored", "infra_error", "verifier_error"
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
    "stopped": "Stopped or finished late: the group needed no more rollouts.",
    "infra_error": "Infrastructure failed without fault of the policy; such rollouts are never scored.",
    "verifier_error": "The reward could not decide; such rollouts are never scored.",
    "superseded": "Retried; the retry counts.",
    "dropped": "on_ending dropped the whole group because of the ending of a rollout.",
    "unscored": "The reward gave no score.",
    "surplus": "The step needed no more groups.",
    "unselected": "The selector dropped the group.",
    "equal_group": "All scored siblings have equal rewards, so advantages are 0.",
    "lone": "No sibling was scored, so there is no comparison.",
    "void_turn": "A turn has neither a call nor an answer.",
    "truncated": "Truncated; truncated rollouts are not trained.",
    "stale": "The oldest token exceeds the staleness bound.",
    "masked": "Scored and part of the group's statistics, but masked from the loss.",
    "not_updated": "The step took no optimizer step.",
    "expert": "An expert wrote the tokens.",
    "forced": "A search forced the tokens in a turn of the policy; forced tokens are not trained here.",
    "no_tokens": "The policy sampled no token.",
    "zero_advantage": "The advantage is 0 at every trained token.",
    "clipped": "The loss has no gradient at any token with an advantage, because of a clip or a mask on ratios.",
}
ALL_THE_SAME = "Another term of the loss, such as a KL penalty, still has a gradient."
BY: Mapping[str, Kind] = {mask_empty_turns.__name__: "void_turn", mask_overlong.__name__: "truncated"}
"""Reasons of selectors that mask rollouts."""
RETRY = re.compile(r"\d+/retry-(\d+)(?:/|$)")


class Reason(NamedTuple):
    """Reason for a missing gradient: kind, sentence for users, and name of the selector, "" without a selector."""

    kind: Kind
    text: str
    by: str = ""


class StepFacts(NamedTuple):
    """Facts of a step, in addition to the groups.

    updated    True if the step took an optimizer step
    staleness  bound on the age of a trained token in steps; None: no bound
    """

    updated: bool = True
    staleness: int | None = None


FACTS = StepFacts()


class Silence(NamedTuple):
    """Reasons for missing gradients of a rollout and of parts; None for a gradient.

    whole   of the rollout
    rows    of each sequence
    turns   of each turn of the policy
    tokens  per sequence [T] bool: tokens with a gradient
    """

    whole: Reason | None
    rows: tuple[Reason | None, ...]
    turns: tuple[Reason | None, ...]
    tokens: tuple[np.ndarray, ...]


def outcome_class(trajectory: Trajectory, total: float | None, *, right: float = 0.5) -> OutcomeClass:
    """Classify the outcome of a rollout.

    Args:
        trajectory: of the rollout.
        total: total reward, turn rewards included; None or NaN for an unscored rollout.
        right: rollouts with a larger total are correct, with any ending.

    Example:
        completed, 1.0 -> correct; truncated by length, 0.0 -> truncated; by "stopped" -> stopped; infra_error ->
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
        return "correct"
    return kind if kind == "truncated" or kind == "policy_error" else "incorrect"


def outcome_classes(record: GroupRecord, *, right: float = 0.5) -> list[OutcomeClass]:
    """Classify the outcomes of a group's siblings."""
    earned = np.full(len(record.group), np.nan)
    earned[record.scored] = totals(record)
    return [outcome_class(one, total, right=right) for one, total in zip(record.group, earned, strict=True)]


def no_gradient(record: GroupRecord, facts: StepFacts = FACTS) -> list[str]:
    """Kind of reason for each sibling without a gradient; "" for a sibling with a gradient."""
    reasons = [why(record, index, facts).whole for index in range(len(record.group))]
    return ["" if one is None else one.kind.replace("_", " ") for one in reasons]


def facts_of(record: RunRecord, step: int) -> StepFacts:
    """Read the facts of a step from record and recipe.json."""
    found = record.query("SELECT value FROM metrics WHERE step = ? AND name = 'optimiser_steps'", step)
    pace: Any = record.about().get("arguments", {}).get("pace")
    pace = pace if isinstance(pace, Mapping) else {}
    carried = pace.get("segment_tokens") is not None or pace.get("segment_calls") is not None
    return StepFacts(not found or found[0][0] != 0, None if carried else pace.get("staleness"))


def why(record: GroupRecord, index: int, facts: StepFacts = FACTS) -> Silence:
    """Find the reasons for missing gradients of a sibling, of rows and of turns.

    Args:
        record: record of the group.
        index: of the trajectory in the group.
        facts: of the step; see `facts_of`.

    Returns:
        The reasons. Rows and turns of a rollout without a gradient have the reason of the rollout.

    Example:
        outcomes 1 and 1 -> both equal_group; outcomes 1 and 0, the second truncated, under mask_overlong -> the first
        None, the second truncated by mask_overlong
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
    """Input of the loss for a rollout, per sequence [T]: tokens of the policy, trained tokens, advantages, and tokens
    with a gradient of the loss."""

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
    """Reason for a rollout without any gradient."""
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
    # A rollout that ends at the moment of the group's decision is not scored, in contrast to its siblings.
    return _reason("unscored" if record.scored[index] or not record.scored.any() else "stopped")


def _left_out(record: GroupRecord, index: int, earned: np.ndarray, facts: StepFacts) -> Reason:
    """Reason for a scored rollout that did not train."""
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
    return "equal_group" if standard_deviation(counted) == 0 else None


def _part(record: GroupRecord, index: int, seen: _Seen, s: int, part: slice) -> Reason:
    """Reason for tokens without a gradient in a rollout with a gradient elsewhere."""
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
    """Total reward of each scored sibling; NaN without a score."""
    scores = record.scores
    if scores is None:
        return np.full(int(record.scored.sum()), np.nan)
    turns = 0.0 if scores.turns is None else np.array([float(np.sum(own)) for own in scores.turns])
    return np.asarray(scores.outcome, np.float64) + turns


def _place(record: GroupRecord, index: int) -> int | None:
    """Index among scored siblings."""
    return int(np.count_nonzero(record.scored[:index])) if record.scored[index] else None


def _reason(kind: Kind, by: str = "") -> Reason:
    return Reason(kind, TEXTS[kind], by)


def _retry(trajectory: Trajectory) -> int:
    """Number of the retry, from 0. An id is STEP/TASK/SAMPLE, then /retry-N, then forks; task ids are arbitrary text."""
    found = RETRY.match(trajectory.id.partition(f"/{trajectory.task.id}/")[2])
    return int(found[1]) if found else 0
