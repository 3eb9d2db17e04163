"""Check of truncated rollouts: share, and limits that truncate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from handaxe.core.records import STOPPED, Trajectory
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, grade, not_checked

__all__ = ["check_truncation"]

REMEDY = {
    "max_tokens": "raise --max-tokens, or train a checkpoint that ends its turns: `handaxe start --help`",
    "context": "shorten prompts and replies, or use a model with a longer context",
    "turns": "raise --max-turns, or choose shorter tasks",
    "budget": "raise the budget of the rollout",
}


def check_truncation(rollouts: Sequence[Trajectory], *, context: int, limits: Thresholds = THRESHOLDS) -> Finding:
    """Grade the share of truncated rollouts by limits.cut; count how turns end.

    Truncation by the token limit of a turn ("max_tokens") and by a full context ("context") are counted separately.

    Args:
        rollouts: of the trial steps; stopped surplus rollouts do not count.
        context: token limit of a sequence.
    """
    ended = [one for one in rollouts if one.ending != STOPPED]
    if not ended:
        return not_checked("truncation", "no rollout ended")
    reasons = Counter[str](_limit(one) for one in ended if one.ending.kind == "truncated")
    turns = [turn for one in ended for turn in one.turns]
    stops = Counter[str](turn.finish for turn in turns)
    silent = sum(not one.turns for one in ended)
    share = reasons.total() / len(ended)
    longest = max(len(sequence) for one in ended for sequence in one.sequences)
    figures = {"rollouts": float(len(ended)), "share": share, "silent": float(silent), "longest": float(longest)}
    figures |= {f"by/{reason}": float(count) for reason, count in reasons.items()}
    figures |= {f"turns/{name}": float(stops[name]) for name in ("stop", "length", "header")}
    level = grade(share, limits.cut)
    by = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    found = f"{reasons.total()} of {len(ended)} rollouts are truncated{f' ({by})' if by else ''}; longest sequence "
    found += f"{longest} of {context} tokens; {stops['stop']} of {len(turns)} turns ended with a stop id"
    if stops["header"]:
        found += f", {stops['header']} began the turn of another role"
    if silent:
        return Finding(
            "truncation",
            "error",
            f"{silent} of {len(ended)} rollouts have no turn: the prompt fills the context; {found}",
            "remove long tasks, or use a model with a longer context",
            figures,
        )
    remedy = "" if level == "ok" else REMEDY.get(reasons.most_common(1)[0][0], "see `handaxe show` after a step")
    return Finding("truncation", level, found, remedy, figures)


def _limit(one: Trajectory) -> str:
    if one.ending.reason != "length" or not one.turns:
        return "context" if one.ending.reason == "length" else one.ending.reason
    last = one.turns[-1]
    return "max_tokens" if last.finish == "length" and last.stop - last.start >= last.sampling.max_tokens else "context"
