"""How many attempts are cut off before they end by themselves, and by what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from handaxe.core.records import STOPPED, Trajectory
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, graded, unchecked

__all__ = ["check_cut_off"]

REMEDY = {
    "max_tokens": "raise --max-tokens, or teach the policy to end its turns: `handaxe start`",
    "context": "shorten prompts and replies, or take a model with a longer context",
    "turns": "raise --max-turns, or ask for less",
    "budget": "raise the budget of the rollout",
}


def check_cut_off(attempts: Sequence[Trajectory], *, context: int, limits: Thresholds = THRESHOLDS) -> Finding:
    """Which share of the attempts is truncated, graded by limits.cut; and how turns end.

    An attempt that was cut by the length of a turn ("max_tokens") is told from one that filled the context.

    Args:
        attempts: that were played; those stopped as no longer wanted do not count.
        context: most tokens of a sequence.
    """
    ended = [one for one in attempts if one.ending != STOPPED]
    if not ended:
        return unchecked("cut off", "no attempt came to an end")
    reasons = Counter[str](_by(one) for one in ended if one.ending.kind == "truncated")
    turns = [turn for one in ended for turn in one.turns]
    stops = Counter[str](turn.finish for turn in turns)
    silent = sum(not one.turns for one in ended)
    share = reasons.total() / len(ended)
    longest = max(len(sequence) for one in ended for sequence in one.sequences)
    figures = {"attempts": float(len(ended)), "share": share, "silent": float(silent), "longest": float(longest)}
    figures |= {f"by/{reason}": float(count) for reason, count in reasons.items()}
    figures |= {f"turns/{name}": float(stops[name]) for name in ("stop", "length", "header")}
    level = graded(share, limits.cut)
    by = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    found = f"{reasons.total()} of {len(ended)} attempts are cut off{f' ({by})' if by else ''}; longest sequence "
    found += f"{longest} of {context} tokens; of {len(turns)} turns {stops['stop']} ended by themselves"
    if stops["header"]:
        found += f", {stops['header']} began another speaker's"
    if silent:
        return Finding(
            "cut off",
            "wrong",
            f"{silent} of {len(ended)} attempts have no turn at all: the prompt fills the context; {found}",
            "leave long tasks out, or take a model with a longer context",
            figures,
        )
    remedy = "" if level == "ok" else REMEDY.get(reasons.most_common(1)[0][0], "see `handaxe show` after a step")
    return Finding("cut off", level, found, remedy, figures)


def _by(one: Trajectory) -> str:
    if one.ending.reason != "length" or not one.turns:
        return "context" if one.ending.reason == "length" else one.ending.reason
    last = one.turns[-1]
    return "max_tokens" if last.finish == "length" and last.stop - last.start >= last.sampling.max_tokens else "context"
