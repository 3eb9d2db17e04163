"""The plain rollout: the policy speaks, the environment answers, until one of them is done."""

import warnings
from collections.abc import Generator
from dataclasses import replace
from typing import Any

from handaxe.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.records import Ending, Message, ParsedTurn, ToolSchema, Trajectory, Turn
from handaxe.rollouts.track import Track
from handaxe.slots import Act, Attempt, Completion, Env, EnvReply, Rollout, RolloutPlan, Sample

__all__ = ["linear"]


def linear(*, max_turns: int = 4, max_tokens: int | None = None) -> Rollout:
    """Play one attempt turn by turn on one growing sequence.

        ids = opening + sampled_0 + reply_0 + sampled_1 + ...        only sampled ids train

    The policy's turn ends at a stop id (finish "stop"), at the length limit ("length": whatever call it holds is not
    executed and the attempt ends truncated), or where it began somebody else's turn ("header": a policy_error).
    Every turn has its own seed, derived from the attempt's. When the chat format rewrites history, a new sequence
    begins and holds the rewritten history as context. A reply that does not fit into what is left of the context ends
    the attempt truncated for "length"; it is kept among the messages, and not a token of it in the sequence.

    Args:
        max_turns: turns of the policy, >= 1; the last may not be answered. Reaching it with the environment not done
            ends the attempt truncated for "turns".
        max_tokens: tokens the policy may write over all turns (None: no bound); spent means truncated for "budget".

    Returns:
        A rollout strategy: Attempt -> generator of Sample and Act requests that returns one trajectory.

    Raises:
        InputError: a limit below 1, and what an environment raises for a task it cannot take. Whatever else it dies of,
            at any moment, ends its own attempt as infra_error.

    Example:
        plan = linear(max_turns=2)(attempt); request = next(plan); request = plan.send(completion)

    Idea: the plain loop of every tool-using agent, token in and token out.
    """

    if max_turns < 1 or (max_tokens is not None and max_tokens < 1):
        raise InputError(f"max_turns is {max_turns} and max_tokens {max_tokens}; give 1 or more, or no max_tokens")

    def rollout(attempt: Attempt) -> RolloutPlan:
        if attempt.sampling.max_tokens < 1:
            raise InputError(f"the sampling's max_tokens is {attempt.sampling.max_tokens}; give 1 or more")
        try:
            env = attempt.env(attempt.task)
        except InputError:
            raise
        except Exception as error:  # an environment that cannot be made is not the policy's fault
            return [_Play(attempt, None, max_turns, max_tokens).trajectory(_died(error))]
        try:
            play = _Play(attempt, env, max_turns, max_tokens)
            ending = yield from play.turns()
            return [play.trajectory(ending)]
        finally:
            try:
                env.close()
            except Exception as error:
                warnings.warn(f"attempt {attempt.id}: closing its environment failed: {error!r}", stacklevel=2)

    return rollout


def _died(error: Exception) -> Ending:
    return Ending("infra_error", f"{type(error).__name__}: {error}")


class _Play:
    """The state of one attempt."""

    def __init__(self, attempt: Attempt, env: Env | None, max_turns: int, max_tokens: int | None):
        self.attempt, self.env = attempt, env
        self.max_turns, self.tokens_left = max_turns, max_tokens
        self.messages: list[Message] = list(attempt.task.messages)
        self.tools: tuple[ToolSchema, ...] = ()
        self.failure: Ending | None = None
        self.done: list[Turn] = []
        try:
            if env:
                opening, self.tools = env.start()
                self.messages = list(opening)
        except InputError:
            raise
        except Exception as error:
            self.failure = _died(error)
        self.tracks = [Track(attempt.format.start(self.messages, self.tools))]

    def turns(self) -> Generator[Sample | Act, Any, Ending]:
        """Yield requests until the attempt is over; return how it ended."""
        if self.failure or self.env is None:
            return self.failure or Ending("infra_error", "it has no environment")
        for k in range(self.max_turns):
            limit = self._limit()
            if limit <= 0:
                return Ending("truncated", "length" if self.tokens_left != 0 else "budget")
            completion: Completion = yield self._request(k, limit)
            turn = self._record(k, completion)
            if completion.finish == "length":
                return Ending("truncated", "length" if self.tokens_left != 0 else "budget")
            if completion.finish == "header":
                return Ending("policy_error", "it began somebody else's turn")
            reply: EnvReply = yield Act(self.env, turn.parsed, turn.seed)
            self.done[-1] = replace(turn, replies=reply.replies)
            if reply.done:
                self.messages += reply.messages
                return reply.ending or Ending("completed")
            fits = k + 1 == self.max_turns or self._extend(k, completion, reply)
            self.messages += reply.messages
            if not fits:
                return Ending("truncated", "length")
        return Ending("truncated", "turns")

    def trajectory(self, ending: Ending) -> Trajectory:
        """The record of what happened."""
        attempt, facts = self.attempt, {}
        try:
            facts = dict(self.env.report()) if self.env and not self.failure else {}
        except Exception as error:
            ending = _died(error)
        return Trajectory(
            id=attempt.id,
            task=attempt.task,
            sample=attempt.sample,
            turns=tuple(self.done),
            sequences=tuple(track.sequence() for track in self.tracks),
            ending=ending,
            messages=tuple(self.messages),
            tools=self.tools,
            seed=attempt.seed,
            env=facts,
            seconds=sum(turn.seconds + sum(r.seconds for r in turn.replies) for turn in self.done),
        )

    def _limit(self) -> int:
        room = self.attempt.context - len(self.tracks[-1].ids)
        limit = min(self.attempt.sampling.max_tokens, room)
        return limit if self.tokens_left is None else min(limit, self.tokens_left)

    def _request(self, k: int, limit: int) -> Sample:
        attempt = self.attempt
        return Sample(
            ids=list(self.tracks[-1].ids),
            sampling=replace(attempt.sampling, max_tokens=limit),
            seed=derive_seed(attempt.seed, k),
            stop=attempt.format.stop_ids,
            header=attempt.format.header_ids,
            turn=k,
        )

    def _record(self, k: int, completion: Completion) -> Turn:
        start, stop = self.tracks[-1].sampled(completion, turn=k)
        if self.tokens_left is not None:
            self.tokens_left -= len(completion.ids)
        parsed = self.attempt.format.parse(completion.ids, self.tools)
        parsed = ParsedTurn(
            parsed.text, tuple(replace(call, id=f"t{k}{call.id}") for call in parsed.calls), parsed.errors, parsed.raw
        )
        turn = Turn(
            sequence=len(self.tracks) - 1,
            start=start,
            stop=stop,
            parsed=parsed,
            finish=completion.finish,
            sampling=self.attempt.sampling,
            seed=derive_seed(self.attempt.seed, k),
            seconds=completion.seconds,
            cost=completion.cost,
        )
        self.done.append(turn)
        self.messages.append(Message("assistant", parsed.text, parsed.calls))
        return turn

    def _extend(self, k: int, completion: Completion, reply: EnvReply) -> bool:
        """Write the reply to the sequence; False, with nothing written, where a model could not read it all."""
        part = self.attempt.format.extend(self.messages, reply.messages, completion.ids, self.tools)
        before = 0 if part.fresh else len(self.tracks[-1].ids)
        if before + len(part.ids) > self.attempt.context:
            return False
        if part.fresh:
            self.tracks.append(Track(part))
        else:
            self.tracks[-1].rendered(part, turn=k)
        return True
