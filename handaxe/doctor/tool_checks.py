"""Checks of tool calls: latency, failures, and length of replies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from handaxe.core.images import name_images
from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, ToolReply, Trajectory
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, grade, not_checked

__all__ = ["check_failures", "check_latency", "check_sizes"]

CUT = re.compile(r"\[\.\.\. (\d+) characters cut \.\.\.\]")
"""Mark that `tools.truncate` leaves in a cut reply."""
MACHINERY = ("infra_error", "timeout")
REFUSED = ("retry", "failed")
START = "train a cold-start checkpoint that calls the tools first: see `handaxe start --help`"


def check_latency(
    rollouts: Sequence[Trajectory], expert: Sequence[Trajectory] = (), *, limits: Thresholds = THRESHOLDS
) -> Finding:
    """Grade the 95th percentile of the seconds of a call by limits.seconds.

    Args:
        rollouts: of the policy.
        expert: trajectories of the expert.
    """
    replies = _replies(rollouts, expert)
    if not replies:
        return _no_replies("tool time", rollouts, expert)
    seconds = np.array([one.seconds for one in replies])
    median, high, most = (float(v) for v in np.quantile(seconds, (0.5, 0.95, 1.0)))
    figures = {"calls": float(len(replies)), "median": median, "p95": high, "max": most, "total": float(seconds.sum())}
    level = grade(high, limits.seconds)
    found = f"{len(replies)} calls took {_time(median)} in the median, {_time(high)} at the 95th percentile, "
    found += f"{_time(most)} at most"
    if level == "ok":
        return Finding("tool time", level, found, figures=figures)
    slow = Counter[str]()
    for one in replies:
        slow[one.name] += int(one.seconds >= high)
    return Finding(
        "tool time",
        level,
        f"{found}; the slowest tool is {slow.most_common(1)[0][0]!r}",
        "cache replies, run more workers of the tool, set a timeout, or let generation run ahead of training "
        "(AsyncConfig(staleness=...)); docs/asynchronous.md",
        figures,
    )


def check_failures(
    rollouts: Sequence[Trajectory], expert: Sequence[Trajectory] = (), *, limits: Thresholds = THRESHOLDS
) -> Finding:
    """Grade the share of calls that fail through no fault of the policy; count calls refused by the tool.

    Args:
        rollouts: of the policy.
        expert: trajectories of the expert; each of the expert's calls should succeed.
    """
    replies, to_expert = _replies(rollouts), _replies(expert)
    every = [*replies, *to_expert]
    if not every:
        return _no_replies("tool failures", rollouts, expert)
    counts = Counter[str](one.status for one in every)
    failed = sum(counts[status] for status in MACHINERY) / len(every)
    refused = sum(counts[status] for status in REFUSED) / len(every)
    figures = {"calls": float(len(every)), "failed": failed, "refused": refused, **_shares(counts)}
    found = f"of {len(every)} calls ({len(to_expert)} by the expert) {_status_counts(counts)}"
    if failed > limits.failed[0]:
        bad = next(one for one in every if one.status in MACHINERY)
        return Finding(
            "tool failures",
            grade(failed, limits.failed),
            f"{found}; the first: {bad.name}: {bad.content[:120]}",
            "such rollouts are never scored, and rollouts of hard tasks fail first: fix the tool, or raise its timeout",
            figures,
        )
    unsuccessful = [one for one in to_expert if one.status != "ok"]
    if unsuccessful:
        first = unsuccessful[0]
        found += f"; a call of the expert has the status {first.status!r}: {first.content[:120]}"
        return Finding("tool failures", "warning", found, "fix the tool, unless the failure is intended", figures)
    if refused > limits.refused:
        remedy = "read the refused calls: `handaxe show` after a step"
        return Finding("tool failures", "warning", found, remedy, figures)
    if not replies and any(one.tools for one in rollouts):
        return Finding("tool failures", "warning", f"{found}; the policy made no call", START, figures)
    return Finding("tool failures", "ok", found, figures=figures)


def _image_tokens(reply: ToolReply, format: ChatFormat) -> int:
    """Tokens of the images of a reply; 0 in a format without images."""
    processor = getattr(format, "image_processor", None) if reply.images else None
    return sum(len(processor.token_ids(image)) for image in reply.images) if processor is not None else 0


def check_sizes(
    rollouts: Sequence[Trajectory],
    expert: Sequence[Trajectory] = (),
    *,
    format: ChatFormat,
    context: int,
    limits: Thresholds = THRESHOLDS,
) -> Finding:
    """Grade the share of the context taken by the longest reply in the run's chat format; count cut replies.

    Args:
        rollouts: of the policy.
        expert: trajectories of the expert.
        format: of the run.
        context: token limit of a sequence.
    """
    replies = _replies(rollouts, expert)
    if not replies:
        return _no_replies("tool output", rollouts, expert)
    longest = max(replies, key=lambda one: len(one.content) + _image_tokens(one, format))
    text = name_images(longest.content, longest.images)
    full, empty = (len(format.start([Message("user", text)], ()).ids) for text in (text, ""))
    tokens = full - empty + _image_tokens(longest, format)
    cut = [one for one in replies if CUT.search(one.content)]
    share = tokens / context
    lengths = np.array([len(one.content) for one in replies])
    figures = {
        "calls": float(len(replies)),
        "median": float(np.median(lengths)),
        "max": float(lengths.max()),
        "tokens": float(tokens),
        "share": share,
        "cut": len(cut) / len(replies),
    }
    found = (
        f"{figures['median']:,.0f} characters in the median, {lengths.max():,} at most: {tokens:,} tokens, {share:.0%} "
        f"of the context"
    )
    level = grade(share, limits.reply)
    if cut:
        removed = max(int(match[1]) for one in cut for match in CUT.finditer(one.content))
        found += f"; {len(cut)} of {len(replies)} replies were cut, at most {removed:,} characters were removed"
        level = "warning" if level == "ok" else level
    remedy = f"shorten the replies of {longest.name!r}: one page at a time, fewer rows, or @tool(max_chars=...)"
    return Finding("tool output", level, found, "" if level == "ok" else remedy, figures)


def _replies(*trajectories: Sequence[Trajectory]) -> list[ToolReply]:
    return [reply for some in trajectories for one in some for reply in one.replies]


def _no_replies(check: str, rollouts: Sequence[Trajectory], expert: Sequence[Trajectory]) -> Finding:
    """The finding without replies: no tool, no call, or a world that scores calls without executing them."""
    if not rollouts and not expert:
        return not_checked(check, "there is no rollout")
    if not any(one.tools for one in (*rollouts, *expert)):
        return Finding(check, "ok", "no tool is offered")
    if any(one.calls for one in expert):
        return Finding(check, "ok", "the expert's calls are not executed: this world scores the calls themselves")
    if any(one.calls for one in rollouts):
        return not_checked(check, "the policy's calls were not executed", "raise --max-turns: a call needs a turn")
    return not_checked(check, "neither the policy nor an expert called a tool", START)


def _shares(counts: Counter[str]) -> dict[str, float]:
    return {f"status/{status}": count / counts.total() for status, count in counts.items()}


def _status_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} were {status}" for status, count in counts.most_common())


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
