"""Imagined rest of a plan: the policy goes on without the replies of the tools."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from handaxe.core.records import Message, ParsedTurn
from handaxe.core.requests import Completion, Sample
from handaxe.papers.toolchain_star.plan_steps import Plan, turn_step
from handaxe.rollouts.play import Play, Request

__all__ = ["imagined_plan"]


def imagined_plan(
    play: Play, completion: Completion, plan: Plan, *, max_turns: int, reply: str = ""
) -> Generator[Request, Any, Plan]:
    """Let the policy imagine the steps after a sampled turn, up to its answer; no tool is called.

        plan + steps of turns at temperature 0, each after the reply `reply` to the calls of the turn before

    Args:
        play: between two turns; it stays as it is.
        completion: its next turn, ended by a stop id.
        plan: steps up to this turn.
        max_turns: of the whole plan.
        reply: text in place of each tool result.

    Returns:
        A generator of requests that returns the whole imagined plan, of at most `max_turns` steps or the steps given.
        It ends early at a turn that is cut off, and at the context limit.

    Example:
        after find(q0) the policy goes on with call(...) and a text  ->  (find, call, text)

    Paper: arXiv:2310.13227 (ToolChain*), the imagination score.
    Unconfirmed: the wording of the paper's request for the imagined plan.
    Differs: the policy writes the turns of a plan, in the paper it is asked for a list; its replies are empty.
    """
    attempt, steps = play.attempt, list(plan)
    format, messages = attempt.format, list(play.messages)
    ids, said = list(play.sequences[-1].ids), list(completion.ids)
    parsed = format.parse(said, play.tools)
    while len(steps) < max_turns and (parsed.calls or parsed.errors):
        messages.append(Message("assistant", parsed.text, parsed.calls))
        blank = _blank(parsed, reply)
        part = format.extend(messages, blank, said, play.tools)
        messages += blank
        ids = list(part.ids) if part.fresh else [*ids, *said, *part.ids]
        space = min(attempt.sampling.max_tokens, attempt.context - len(ids))
        if space < 1:
            break
        sampling = replace(attempt.sampling, temperature=0.0, max_tokens=space)
        drawn: Completion = yield Sample(
            ids, sampling, 0, format.stop_ids, format.header_ids, len(steps), None, attempt.by
        )
        if drawn.finish != "stop":
            break
        said = list(drawn.ids)
        parsed = format.parse(said, play.tools)
        steps.append(turn_step(messages, parsed))
    return tuple(steps)


def _blank(parsed: ParsedTurn, reply: str) -> list[Message]:
    replies = [Message("tool", reply, call_id=call.id, name=call.name) for call in parsed.calls]
    return [*replies, *(Message("tool", error) for error in parsed.errors)]
