"""Warnings about tools of finished steps: a tool that fails in every call, and replies beyond the context."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from handaxe.core.records import ToolReply, Trajectory

__all__ = ["tool_warnings"]

FEW = 4
"""Calls of a tool in a step below which nothing is concluded."""
MOST = 200
"""Maximum characters of a reply in a warning."""


def tool_warnings(rollouts: Sequence[Trajectory], step: int) -> Iterator[tuple[str, str]]:
    """Yield (key, warning) for each tool with a problem in a step; equal problems have equal keys.

    Calls with invalid arguments are faults of the policy, and do not count.

    Args:
        rollouts: all rollouts of the step.
        step: counted from 0.

    Example:
        8 calls of lookup, each raised KeyError: 'x'
        -> ("failing lookup", "tool 'lookup' failed in all 8 calls of step 1; the first: infra_error: KeyError: 'x'.")
    """
    replies = defaultdict[str, list[ToolReply]](list)
    for reply in (reply for one in rollouts for reply in one.replies if reply.status != "invalid"):
        replies[reply.name].append(reply)
    for name, own in sorted(replies.items()):
        if len(own) >= FEW and all(reply.status != "ok" for reply in own):
            yield (
                f"failing {name}",
                f"tool {name!r} failed in all {len(own)} calls of step {step + 1}; the first: {own[0].status}: "
                f"{_shortened(own[0].content)}. Fix the tool: no rollout can learn from its replies",
            )
    beyond = defaultdict[str, list[int]](list)
    for one in rollouts:
        if (last := _overflow(one)) is not None:
            beyond[last.name].append(len(last.content))
    for name, sizes in sorted(beyond.items()):
        yield (
            f"beyond {name}",
            f"tool {name!r}: in {len(sizes)} of {len(rollouts)} rollouts of step {step + 1} the reply did not fit into "
            f"the context, up to {max(sizes):,} characters. Shorten its replies: fewer rows, or @tool(max_chars=...)",
        )


def _overflow(one: Trajectory) -> ToolReply | None:
    """The longest reply of the last turn, if the rollout was truncated after the replies and before another turn."""
    truncated = one.ending.kind == "truncated" and one.ending.reason == "length"
    if not truncated or not one.turns or not one.turns[-1].replies:
        return None
    return max(one.turns[-1].replies, key=lambda reply: len(reply.content))


def _shortened(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]}..."
