"""Reward for unrepeated tags in order."""

import re
from collections.abc import Callable, Sequence

from handaxe.core.protocols import Reward
from handaxe.core.records import Task, Trajectory
from handaxe.rewards.outcome import outcome
from handaxe.rewards.parts.extract import has_forged_call, written_text

__all__ = ["tags_in_order"]


def tags_in_order(
    *,
    tags: Sequence[str] | Callable[[Task], Sequence[str]] = ("think", "answer"),
    strict: float = 1.0,
    relaxed: float = 0.0,
    penalty: float = 0.0,
    text: Callable[[Trajectory], str] = written_text,
) -> Reward:
    """Score tag pairs: `strict` for all of them in order with nothing between, `relaxed` for each one in place.

        S_i = 1 if the text is <t1>..</t1> <t2>..</t2> ... with only white space between, each tag exactly once
        in_place_i(t) = 1 if <t> and </t> occur exactly once each, in this order
        R_i = strict * S_i + relaxed * sum_t in_place_i(t) - penalty * sum_t (1 - in_place_i(t))

    Args:
        tags: tag names in order, or a function of the task (ToolRL: those of its reference answer).
        strict: ToolRL 1.0; ARTIST 0.5.
        relaxed: for each tag; ToolRL 0; ARTIST 0.125.
        penalty: for each missing or repeated tag; ARTIST's function-calling reward has one of unknown size.
        text: trajectory -> text; by default calls are a <tool_call> block after the text of their turn, and this tag is
            not in place if a call is malformed or the policy's own text has the tag.

    Returns:
        A reward with outcome [G]. No turn: no tag is in place.

    Example:
        tags think, answer; strict 0.5, relaxed 0.125
        "<think>a</think><answer>b</answer>" -> 0.75;  "<answer>b</answer><think>a</think>" -> 0.25;
        "<think>a<answer>b</answer>" -> 0.125

    Paper: arXiv:2504.13958 (ToolRL), R_format, with strict 1; arXiv:2505.01441 (ARTIST), its format reward.
    Unconfirmed: ARTIST's constants 0.5 and 0.125, and its penalty.
    Differs: ARTIST repeats its think and tool blocks; here each tag occurs once, so that only such tags may be named.
    """

    def score(trajectory: Trajectory) -> float:
        names, written = tags(trajectory.task) if callable(tags) else tags, text(trajectory)
        forged = text is written_text and has_forged_call(trajectory)
        in_place = sum(_in_place(name, written) and not (name == "tool_call" and forged) for name in names)
        ordered = in_place == len(names) and _in_order(names, written)
        return strict * ordered + relaxed * in_place - penalty * (len(names) - in_place)

    return outcome(score)


def _in_place(name: str, text: str) -> bool:
    once = text.count(f"<{name}>") == 1 and text.count(f"</{name}>") == 1
    return once and text.index(f"<{name}>") < text.index(f"</{name}>")


def _in_order(names: Sequence[str], text: str) -> bool:
    """Check whether the blocks, each known to occur once, are the whole text in this order."""
    pattern = r"\s*".join(rf"<{re.escape(name)}>.*</{re.escape(name)}>" for name in names)
    return re.fullmatch(rf"\s*{pattern}\s*", text, flags=re.DOTALL) is not None
