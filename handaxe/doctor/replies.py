"""What tools cost and say: how long calls take, how often they fail, and how much of the context a reply takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from handaxe.core.protocols import ChatFormat
from handaxe.core.records import Message, ToolReply, Trajectory
from handaxe.doctor.finding import THRESHOLDS, Finding, Thresholds, graded, unchecked

__all__ = ["check_failures", "check_latency", "check_sizes"]

CUT = re.compile(r"\[\.\.\. (\d+) characters cut \.\.\.\]")
"""What `tools.truncate` writes where it cuts."""
MACHINERY = ("infra_error", "timeout")
REFUSED = ("retry", "failed")
START = "teach the policy its tools first: see `handaxe start`"


def check_latency(
    attempts: Sequence[Trajectory], shown: Sequence[Trajectory] = (), *, limits: Thresholds = THRESHOLDS
) -> Finding:
    """How long calls take: the 95th percentile is graded by limits.seconds.

    Args:
        attempts: the policy's.
        shown: the expert's.
    """
    replies = _replies(attempts, shown)
    if not replies:
        return _nothing("tool time", attempts, shown)
    seconds = np.array([one.seconds for one in replies])
    middle, high, most = (float(v) for v in np.quantile(seconds, (0.5, 0.95, 1.0)))
    figures = {"calls": float(len(replies)), "median": middle, "p95": high, "most": most, "total": float(seconds.sum())}
    level = graded(high, limits.seconds)
    found = f"{len(replies)} calls took {_time(middle)} in the middle, {_time(high)} at the 95th percentile, "
    found += f"{_time(most)} at most"
    if level == "ok":
        return Finding("tool time", level, found, figures=figures)
    slow = Counter[str]()
    for one in replies:
        slow[one.name] += int(one.seconds >= high)
    return Finding(
        "tool time",
        level,
        f"{found}; slowest is {slow.most_common(1)[0][0]!r}",
        "keep replies (a cache), run more of the tool, set its timeout, or let generation run ahead of training "
        "(Pace(staleness=...)); docs/asynchronous.md",
        figures,
    )


def check_failures(
    attempts: Sequence[Trajectory], shown: Sequence[Trajectory] = (), *, limits: Thresholds = THRESHOLDS
) -> Finding:
    """How often calls fail for no fault of the policy, and how often the tool cannot carry them out.

    Args:
        attempts: the policy's.
        shown: the expert's, whose calls should all be answered.
    """
    replies, expert = _replies(attempts), _replies(shown)
    every = [*replies, *expert]
    if not every:
        return _nothing("tool failures", attempts, shown)
    counts = Counter[str](one.status for one in every)
    failed = sum(counts[status] for status in MACHINERY) / len(every)
    refused = sum(counts[status] for status in REFUSED) / len(every)
    figures = {"calls": float(len(every)), "failed": failed, "refused": refused, **_shares(counts)}
    found = f"of {len(every)} calls ({len(expert)} of them the expert's) {_told(counts)}"
    if failed > limits.failed[0]:
        bad = next(one for one in every if one.status in MACHINERY)
        return Finding(
            "tool failures",
            graded(failed, limits.failed),
            f"{found}; the first: {bad.name}: {bad.content[:120]}",
            "such attempts are never scored, and what is hard is left out first: mend the tool, or raise its timeout",
            figures,
        )
    astray = [one for one in expert if one.status != "ok"]
    if astray:
        found += f"; the expert's own calls are answered with {astray[0].status!r}: {astray[0].content[:120]}"
        return Finding("tool failures", "look", found, "mend the tool, unless its failing is meant", figures)
    if refused > limits.refused:
        return Finding("tool failures", "look", found, "see what it refuses: `handaxe show` after a step", figures)
    if not replies and any(one.tools for one in attempts):
        return Finding("tool failures", "look", f"{found}; the policy itself called none", START, figures)
    return Finding("tool failures", "ok", found, figures=figures)


def check_sizes(
    attempts: Sequence[Trajectory],
    shown: Sequence[Trajectory] = (),
    *,
    format: ChatFormat,
    context: int,
    limits: Thresholds = THRESHOLDS,
) -> Finding:
    """How much of the context the longest reply takes, as the run's chat format writes it, and whether replies are cut.

    Args:
        attempts: the policy's.
        shown: the expert's.
        format: of the run.
        context: most tokens of a sequence.
    """
    replies = _replies(attempts, shown)
    if not replies:
        return _nothing("tool output", attempts, shown)
    longest = max(replies, key=lambda one: len(one.content))
    said, empty = (len(format.start([Message("user", text)], ()).ids) for text in (longest.content, ""))
    tokens = said - empty
    cut = [one for one in replies if CUT.search(one.content)]
    share = tokens / context
    lengths = np.array([len(one.content) for one in replies])
    figures = {
        "calls": float(len(replies)),
        "median": float(np.median(lengths)),
        "most": float(lengths.max()),
        "tokens": float(tokens),
        "share": share,
        "cut": len(cut) / len(replies),
    }
    found = (
        f"{figures['median']:,.0f} characters in the middle, {lengths.max():,} at most: {tokens:,} tokens, {share:.0%} "
        f"of the context"
    )
    level = graded(share, limits.reply)
    if cut:
        left = max(int(match[1]) for one in cut for match in CUT.finditer(one.content))
        found += f"; {len(cut)} of {len(replies)} were cut, {left:,} characters of the longest left out"
        level = "look" if level == "ok" else level
    remedy = f"let {longest.name!r} say less: a page at a time, fewer rows, or @tool(max_chars=...)"
    return Finding("tool output", level, found, "" if level == "ok" else remedy, figures)


def _replies(*attempts: Sequence[Trajectory]) -> list[ToolReply]:
    return [reply for some in attempts for one in some for reply in one.replies]


def _nothing(check: str, attempts: Sequence[Trajectory], shown: Sequence[Trajectory]) -> Finding:
    """Why there is no reply: no tool, no call, or a world that judges calls and carries none out."""
    if not attempts and not shown:
        return unchecked(check, "there is no attempt")
    if not any(one.tools for one in (*attempts, *shown)):
        return Finding(check, "ok", "no tool is offered")
    if any(one.calls for one in shown):
        return Finding(check, "ok", "the expert's calls are not carried out: this world judges them as they stand")
    if any(one.calls for one in attempts):
        return unchecked(check, "the policy's calls were not carried out", "see that --max-turns leaves room for it")
    return unchecked(check, "no tool was called, neither by the policy nor by an expert", START)


def _shares(counts: Counter[str]) -> dict[str, float]:
    return {f"status/{status}": count / counts.total() for status, count in counts.items()}


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} were {status}" for status, count in counts.most_common())


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"
