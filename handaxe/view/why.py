"""Outcome classes of rollouts, and reasons for a missing gradient of a rollout, a row or a turn.

A token has a gradient if the token was trained, the advantage is not 0, and the loss has a gradient at the token:

    got(t) = entered_i and trains(t) and A(t) != 0 and moved(t)

The reason is the first decision in the rollout's dispositions that took the token out, or else a fact of the
advantages. Records before format 5 have no `moved`, so no clipped tokens. Loss terms without advantage, such as a KL
penalty, do not count as gradient. With such a term no token counts as clipped, since the term also moves clipped
tokens."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from handaxe.core.records import STOPPED, Author, Dispositions, RatedGroup, Trajectory
from handaxe.ops.returns import standard_deviation
from handaxe.selection.mask_empty_turns import mask_empty_turns
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.training.loop.describe import read_arguments
from handaxe.training.record.groups import RecordedGroup, first_selector, is_trained
from handaxe.training.record.run_record import RunRecord

__all__ = [
    "Kind",
    "OUTCOMES",
    "OutcomeClass",
    "Reason",
    "Silence",
    "no_gradient",
    "outcome_class",
    "outcome_classes",
    "staleness_bound",
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
MOVED_ANYWAY = "Another term of the loss, such as a KL penalty, still has a gradient."
BY: Mapping[str, Kind] = {mask_empty_turns.__name__: "void_turn", mask_overlong.__name__: "truncated"}
"""Selector -> kind of reason."""
UNSCORED: Mapping[str, Kind] = {
    "stopped": "stopped",
    "superseded": "superseded",
    "infra_error": "infra_error",
    "verifier_error": "verifier_error",
}


class Reason(NamedTuple):
    """Reason for a missing gradient: kind, sentence for users, and name of the selector, "" without a selector."""

    kind: Kind
    text: str
    by: str = ""


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


def outcome_classes(record: RecordedGroup, *, right: float = 0.5) -> list[OutcomeClass]:
    """Classify the outcome of each rollout of a group."""
    earned = totals(record)
    places = [record.place(index) for index in range(len(record.played.group))]
    return [
        outcome_class(one, None if place is None else float(earned[place]), right=right)
        for one, place in zip(record.played.group, places, strict=True)
    ]


def no_gradient(record: RecordedGroup, staleness: int | None = None) -> list[str]:
    """Name for each rollout the kind of reason why it got no gradient; "" where it got one."""
    reasons = [why(record, index, staleness).whole for index in range(len(record.played.group))]
    return ["" if one is None else one.kind.replace("_", " ") for one in reasons]


def staleness_bound(record: RunRecord) -> int | None:
    """Maximum age in steps of a trained token in a run, from its recipe.json; None: no bound."""
    config = read_arguments(record.about()).get("async_config")
    if not isinstance(config, Mapping):
        return None
    segments = config.get("segment_tokens") is not None or config.get("segment_calls") is not None
    return None if segments else config.get("staleness")


def why(record: RecordedGroup, index: int, staleness: int | None = None) -> Silence:
    """Find the reasons why a rollout, each of its rows and each of its turns got no gradient.

    Args:
        record: the group as its step left it.
        index: of the rollout in the played group.
        staleness: bound on the age of its tokens; see `staleness_bound`.

    Returns:
        Reasons. Rows and turns of a rollout without gradient have the rollout's reason.

    Example:
        outcomes 1 and 1 -> both equal_group; outcomes 1 and 0, the second truncated, under mask_overlong -> the first
        None, the second truncated by mask_overlong
    """
    trajectory = record.played.group[index]
    seen = _Seen.of(record, index)
    got = tuple(one & seen.updated for one in seen.got())
    whole = None if any(one.any() for one in got) else _whole(record, index, seen, staleness)
    rows = tuple(
        None if one.any() else whole or _part(record, index, seen, s, slice(None)) for s, one in enumerate(got)
    )
    spans = [(turn.sequence, slice(turn.start, turn.stop)) for turn in trajectory.turns]
    turns = tuple(None if got[s][part].any() else whole or _part(record, index, seen, s, part) for s, part in spans)
    return Silence(whole, rows, turns, got)


class _Seen(NamedTuple):
    """Input of the loss for a rollout, per sequence [T]: tokens of the policy, trained tokens, advantages, and tokens
    that the loss moved; and whether the step took an optimizer step."""

    own: tuple[np.ndarray, ...]
    trained: tuple[np.ndarray, ...]
    advantages: tuple[np.ndarray, ...]
    moved: tuple[np.ndarray, ...]
    updated: bool

    @classmethod
    def of(cls, record: RecordedGroup, index: int) -> "_Seen":
        own = tuple(sequence.mask for sequence in record.played.group[index].sequences)
        updated = any(one.kind == "trained" for one in record.played.dispositions[index])
        place = record.place(index)
        if not isinstance(record, RatedGroup) or place is None:
            nothing = tuple(np.zeros(len(mask)) for mask in own)
            return cls(own, tuple(np.zeros(len(mask), bool) for mask in own), nothing, own, updated)
        moved = None if record.moved is None else record.moved[place]
        everything = tuple(np.ones(len(mask), bool) for mask in own)
        tokens = record.advantages.tokens[place]
        return cls(own, record.training_mask(place), tokens, moved or everything, updated)

    def got(self) -> Iterator[np.ndarray]:
        for trained, advantages, moved in zip(self.trained, self.advantages, self.moved, strict=True):
            yield trained & (advantages != 0) & moved


def _whole(record: RecordedGroup, index: int, seen: _Seen, staleness: int | None) -> Reason:
    """Reason for a rollout without any gradient."""
    earned, place = totals(record), record.place(index)
    history = record.played.dispositions[index]
    if place is None or np.isnan(earned[place]):
        return _unscored(history)
    if not is_trained(record, index):
        return _left_out(record, index, earned, staleness)
    if not seen.updated:
        return _reason("not_updated")
    if not any(one.any() for one in seen.trained):
        found = [_untrained(record, index, seen, s, slice(None)) for s in range(len(seen.own))]
        return next((one for one in found if one.kind in ("masked", "forced")), found[0])
    if not any((a[b] != 0).any() for a, b in zip(seen.advantages, seen.trained)):
        still = _reason(_nothing_to_compare(earned) or "zero_advantage")
        moved = isinstance(record, RatedGroup) and record.moved is not None
        moved = moved and any(one.any() for one in seen.moved)
        return still._replace(text=f"{still.text} {MOVED_ANYWAY}") if moved else still
    return _reason("clipped")


def _unscored(history: Dispositions) -> Reason:
    first = next((one for one in history if one.kind in ("unscored", "dropped")), None)
    if first is not None and first.kind == "dropped":
        return _reason("dropped")
    return _reason("unscored" if first is None else UNSCORED.get(first.by, "unscored"))


def _left_out(record: RecordedGroup, index: int, earned: np.ndarray, staleness: int | None) -> Reason:
    """Reason for a scored rollout that did not train: the first decision against training."""
    history, ages = record.played.dispositions[index], record.played.ages
    first = next((one for one in history if one.kind in ("masked", "dropped", "surplus")), None)
    by = "" if first is None else first.by
    if by in BY:
        return _reason(BY[by], by)
    if ages is not None and staleness is not None and ages[index] > staleness:
        return _reason("stale", by)
    if first is not None and first.kind == "surplus":
        return _reason("surplus")
    if first is not None and first.kind == "dropped":
        return _reason(_nothing_to_compare(earned) or "unselected", by)
    cut = by == "on_ending" and record.played.group[index].ending.kind == "truncated"
    return _reason("truncated" if cut else "masked", by)


def _nothing_to_compare(earned: np.ndarray) -> Literal["equal_group", "lone"] | None:
    counted = earned[~np.isnan(earned)]
    if len(counted) == 1:
        return "lone"
    return "equal_group" if standard_deviation(counted) == 0 else None


def _part(record: RecordedGroup, index: int, seen: _Seen, s: int, part: slice) -> Reason:
    """Reason for tokens without a gradient in a rollout with a gradient elsewhere."""
    trained = seen.trained[s][part]
    if not trained.any():
        return _untrained(record, index, seen, s, part)
    return _reason("clipped" if (seen.advantages[s][part][trained] != 0).any() else "zero_advantage")


def _untrained(record: RecordedGroup, index: int, seen: _Seen, s: int, part: slice) -> Reason:
    author, own = record.played.group[index].sequences[s].author[part], seen.own[s][part]
    if not own.any():
        return _reason("expert" if (author == Author.EXPERT).any() else "no_tokens")
    if (author[own] == Author.FORCED).all():
        return _reason("forced")
    return _reason("masked", first_selector(record.played.dispositions[index]))


def totals(record: RecordedGroup) -> np.ndarray:
    """[G] total reward of each rollout; NaN without a score."""
    scores = record.scores
    if scores is None:
        return np.zeros(0)
    turns = 0.0 if scores.turns is None else np.array([float(np.sum(own)) for own in scores.turns])
    return np.asarray(scores.outcome, np.float64) + turns


def _reason(kind: Kind, by: str = "") -> Reason:
    return Reason(kind, TEXTS[kind], by)
