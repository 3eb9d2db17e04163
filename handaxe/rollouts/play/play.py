"""One rollout in progress: the building block of `linear`, `forking` and custom strategies.

    play = Play(attempt, Rules(max_turns=4))
    trajectory = yield from play.run()          open the environment, play turn after turn, close it

A strategy with work between turns passes `run` a generator, which calls `play.turn()`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.images import message_images
from handaxe.core.protocols import RolloutPlan
from handaxe.core.records import STOPPED, Ending, Message, ParsedTurn, ToolCall, ToolSchema, Trajectory, Turn
from handaxe.core.requests import (
    Act,
    Attempt,
    Completion,
    EnvReply,
    Measure,
    Partial,
    Sample,
    Spawn,
    Splice,
    Stopped,
    Work,
)
from handaxe.core.usage import Usage
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.budget import Remaining, budget_messages, remaining_budget
from handaxe.rollouts.play.aux_turns import AuxTurn, answer_aux_requests, aux_trajectories
from handaxe.rollouts.play.env_session import EnvSession, infra_error, work
from handaxe.rollouts.play.history import CONTINUE, history, interjected, record_new_sequence
from handaxe.rollouts.play.replay_turns import replay_turns
from handaxe.rollouts.play.rules import UNBOUNDED, Beginning, Mark, Rules
from handaxe.rollouts.play.sequence_builder import SequenceBuilder, extend_sequences
from handaxe.rollouts.play.takeback import note_splice
from handaxe.rollouts.play.usage_account import UsageAccount

__all__ = ["MEASURE_NOTE", "Play", "Request"]

Request = Sample | Measure | Act | Work | Spawn
MEASURE_NOTE = "measured"
"""Key of the notes that hold the play's measures."""
NOTHING = Usage()


class Play:
    """One rollout.

    Read `messages`, `tools`, `turns`, `sequences` (growing) and, if the rules say snapshots, `marks` (one a turn, the
    next included). Write JSON of the strategy into `notes`: it ends in the trajectory, yields no token, and a fork
    starts with the notes from before its turn. `Takeback` takes turns back.

    Args:
        attempt: input of the rollout.
        rules: limits and options.
        beginning: part shared with another play; None shares nothing.

    Idea: the loop of every tool-using agent, open between turns for strategies that branch or look there.

    Example:
        def rollout(attempt): return (yield from Play(attempt, Rules(max_turns=4)).plan())
    """

    def __init__(self, attempt: Attempt, rules: Rules, *, beginning: Beginning | None = None):
        if attempt.sampling.max_tokens < 1:
            raise InputError(f"the sampling's max_tokens is {attempt.sampling.max_tokens}; give 1 or more")
        self.attempt, self.rules = attempt, rules
        self.messages: list[Message] = list(attempt.task.messages)
        self.tools: tuple[ToolSchema, ...] = ()
        self.turns: list[Turn] = []
        self.sequences: list[SequenceBuilder] = []
        self.marks: list[Mark] = []
        self.notes: dict[str, Any] = {}
        self.aux_turns: list[AuxTurn] = []
        self._prefix: Partial | None = None
        self._seed = 0
        self._beginning, self._shared = beginning, 0
        self.done = self._opened = self._sampling = self._acting = False
        self._bounded = rules.budget != UNBOUNDED
        processor = getattr(attempt.format, "image_processor", None) if self._bounded else None
        count = None if processor is None else lambda image: len(processor.token_ids(image))
        self.usage, state = UsageAccount(counts=self._bounded, count=count), None
        if beginning is not None:
            self.messages, self.tools = beginning.messages, beginning.tools
            self.sequences, self.marks = beginning.sequences, beginning.marks
            self.turns, self._shared = beginning.turns, len(beginning.turns)
            self.notes, state = deepcopy(beginning.marks[-1].notes), beginning.marks[-1].state
            self.aux_turns = list(beginning.aux_turns or ())
            spent, outside = Usage.of(beginning.turns, count), beginning.replayed or NOTHING
            self.usage = UsageAccount(counts=self._bounded, spent=spent, outside=outside, count=count)
        snapshots = rules.snapshots and beginning is None
        self.session = EnvSession(attempt.env, attempt.task, name=attempt.id, state=state, snapshots=snapshots)
        self.session.inform(aux_policies=attempt.aux_policies, max_turns=rules.max_turns)

    def plan(self) -> RolloutPlan:
        """Return the play as a plan, for a Spawn."""
        return [(yield from self.run())]

    def run(self, turns: Generator[Request, Any, Ending] | None = None) -> Generator[Request, Any, Trajectory]:
        """Open the environment, play, and close it in every case.

        Args:
            turns: generator that plays and returns the ending; None plays turn after turn.
        """
        try:
            try:
                ending = yield from self._open()
                if ending is None:
                    ending = yield from (self._all_turns() if turns is None else turns)
            except Stopped as stopped:
                ending = self._keep_partial(stopped.partial)
            facts: dict[str, Any] = {}
            if self._opened:
                facts, ending = yield from self._close(ending)
        finally:  # a plan that is closed, or raises, can yield no more Work
            self.session.close()
        self.done = True
        return self._trajectory(ending, facts)

    def turn(
        self, *, seed: int | None = None, prefix: Partial | None = None, replaces: Usage | None = None
    ) -> Generator[Request, Any, Ending | None]:
        """Play one turn and the environment's reply; returns the ending, or None if the rollout can continue.

        Args:
            seed: of the turn; None derives it from the number of the turn.
            prefix, replaces: first tokens of the turn, and usage of the turns that it replaces; see
                `Takeback.resample_turn`.
        """
        k = len(self.turns)
        limits = self._limits(k, kept := 0 if prefix is None else len(prefix.ids))
        if isinstance(limits, Ending):
            return limits
        limit, tokens = limits
        own = derive_seed(self.attempt.seed, k)
        self._prefix, self._seed = prefix if kept else None, own if prefix is not None or seed is None else seed
        try:
            completion = yield from self._sample(k, limit, own if seed is None else seed)
        except InfrastructureError as error:  # an engine elsewhere failed
            self._sampling = False
            return infra_error(error)
        self._prefix = None
        if replaces is not None:
            completion = completion._replace(splice=Splice(len(completion.ids), replaces))
        elif completion.splice is not None:  # a replay of a spliced turn
            self.usage.add_outside(completion.splice.usage)
            tokens = None if tokens is None else tokens - completion.splice.usage.tokens
        turn = self._record(k, completion, self._seed)
        if completion.finish != "stop":  # the environment does not reply, and the turn may be taken back
            self.usage.add_turn(turn)
        if completion.finish == "length":
            return Ending("truncated", "budget" if len(completion.ids) == tokens else "length")
        if completion.finish == "header":
            return Ending("policy_error", "it began another speaker's turn")
        return (yield from self._act(k, turn, completion))

    def append_turn(self, completion: Completion) -> Generator[Request, Any, Ending | None]:
        """Append a turn of given tokens, and play the environment's reply; returns as `turn`."""
        k = len(self.turns)
        turn = self._record(k, completion, derive_seed(self.attempt.seed, k))
        return (yield from self._act(k, turn, completion))

    def exhausted(self, kept: int = 0) -> Ending | None:
        """Return the ending if limits leave no room for another turn with more than `kept` tokens, which are paid."""
        limits = self._limits(len(self.turns), kept, refund=kept)
        return limits if isinstance(limits, Ending) else None

    def new_sequence(self, messages: Sequence[Message]) -> Ending | None:
        """Begin a new sequence: the next turn reads these messages instead of the conversation so far.

        Both sequences belong to the one trajectory. Messages that are not in the conversation yet join it and carry a
        `name`. notes["anew"] holds the opening of the new sequence (see `rollouts.play.history`).

        Returns:
            The ending if the messages alone exceed the context; None otherwise.
        """
        self.messages = [*self.messages, *(message for message in messages if message not in self.messages)]
        part = self.attempt.format.start(messages, self.tools)
        if len(part.ids) > self.attempt.context:
            return Ending("truncated", "length")
        record_new_sequence(self.messages, self.notes, messages)
        self.sequences.append(SequenceBuilder(part))
        return None

    def forget(self, k: int) -> None:
        """Remove turn k and all later turns from tokens, messages and notes. `Takeback` restores the environment."""
        mark, first = self.marks[k], self.turns[k]
        self.aux_turns = self.aux_turns[: mark.aux_turns]
        self.messages, self.notes = self.messages[: mark.messages], deepcopy(mark.notes)
        self.turns, self.marks = self.turns[:k], self.marks[: k + 1]
        self._shared = -1
        self.sequences = [*self.sequences[: first.sequence], self.sequences[first.sequence].prefix(first.start)]

    @property
    def history(self) -> list[Message]:
        """Messages of the current sequence, in order: all of them until `new_sequence`."""
        return history(self.messages, self.notes)

    @property
    def remaining(self) -> Remaining:
        """Remaining turns and budget."""
        return self._remaining(len(self.turns))

    def measure(self, request: Measure) -> Generator[Request, Any, dict[str, list[float]]]:
        """Measure ids under the model, such as the last turn. A replay reads the answer from `notes`."""
        if self.attempt.by:
            raise InputError(f"{self.attempt.id!r} is played by {self.attempt.by!r}; only the policy can be measured")
        found: dict[str, list[float]] = yield request._replace(images=request.images or message_images(self.messages))
        self.notes.setdefault(MEASURE_NOTE, {})[request.key] = found
        return found

    def partial_trajectory(self) -> Trajectory:
        """Return the trajectory so far, as if stopped here: for a judge between two turns."""
        return self._trajectory(STOPPED, {})

    def _open(self) -> Generator[Request, Any, Ending | None]:
        opened, ending = yield from work(self.session.open, opens=self.attempt.env)
        if ending is not None:
            return ending
        self._opened = True
        if self._beginning is not None:
            self._acting = True
            ending = yield from replay_turns(self._beginning, opened, self.session.env)
            self._acting = False
            return ending
        self.messages, self.tools = list(opened.messages), opened.tools
        said = yield from interjected(self, self.messages)
        if isinstance(said, Ending):
            return said
        self.messages += said
        self.sequences = [SequenceBuilder(self.attempt.format.start(self.messages, self.tools))]
        self.marks = [Mark(len(self.messages), opened.state, deepcopy(self.notes), len(self.aux_turns))]
        return None

    def _all_turns(self) -> Generator[Request, Any, Ending]:
        while (ending := (yield from self.turn())) is None:
            pass
        return ending

    def _limits(self, k: int, kept: int, refund: int = 0) -> tuple[int, int | None] | Ending:
        """Maximum tokens of turn k, and the budget's part in it; the ending where no token beyond `kept` fits.

        `refund` tokens return to the budget when the turn begins."""
        if k >= self.rules.max_turns:
            return Ending("truncated", "turns")
        left, space = self._remaining(k), self.attempt.context - len(self.sequences[-1].ids)
        tokens = None if left.tokens is None else left.tokens + refund
        limit = min(self.attempt.sampling.max_tokens, space if tokens is None else min(space, tokens))
        if left.nothing or limit <= kept:
            return Ending("truncated", "budget" if left.nothing else "length")
        return limit, tokens

    def _sample(self, k: int, limit: int, seed: int) -> Generator[Request, Any, Completion]:
        """Sample turn k, without the part that a fork shares."""
        shared = self._shared_turn(k)
        if shared is not None and (completion := shared.completion(limit)) is not None:
            return completion
        prefix = self._prefix if shared is None else shared.prefix
        attempt, images = self.attempt, message_images(self.messages)
        stop, header = attempt.format.stop_ids, attempt.format.header_ids
        sampling = replace(attempt.sampling, max_tokens=limit)
        ids = self.sequences[-1].ids[:]  # a copy, since the builder grows and an engine may store the request
        self._sampling = True
        sampled: Completion = yield Sample(ids, sampling, seed, stop, header, k, prefix, attempt.by, images)
        self._sampling = False
        return sampled

    def _shared_turn(self, k: int) -> Beginning | None:
        """The beginning, if a fork shares part of turn k."""
        return self._beginning if k == self._shared else None

    def _record(self, k: int, completion: Completion, seed: int) -> Turn:
        splice, shared = completion.splice, self._shared_turn(k)
        places = (
            range(splice.own, len(completion.ids)) if splice is not None else () if shared is None else shared.forced
        )
        forced = [place for place in places if place < len(completion.ids)]
        start, stop = self.sequences[-1].append_sampled(completion, turn=k, forced=forced)
        if splice is not None:
            note_splice(self.notes, k, splice)
        read = self.attempt.format.parse(completion.ids, self.tools)
        calls = tuple([ToolCall(call.name, call.arguments, f"t{k}{call.id}") for call in read.calls])
        parsed = ParsedTurn(read.text, calls, read.errors, read.raw, read.spans)
        sequence = len(self.sequences) - 1
        sampling, finish = self.attempt.sampling, completion.finish
        seconds, cost = completion.seconds, completion.cost
        turn = Turn(sequence, start, stop, parsed, finish, sampling, seed, seconds=seconds, cost=cost)
        self.turns.append(turn)
        self.messages.append(Message("assistant", parsed.text, parsed.calls))
        return turn

    def _act(self, k: int, turn: Turn, completion: Completion) -> Generator[Request, Any, Ending | None]:
        """Play the environment's reply; returns None if the next turn can begin."""
        acted, most = turn.parsed, self.rules.budget.calls
        if most is not None and len(acted.calls) > most - self.usage.spent.calls:
            acted = replace(acted, calls=acted.calls[: most - self.usage.spent.calls])
            if not acted.calls:
                self.usage.add_turn(turn)
                return Ending("truncated", "budget")
        self._acting = True
        reply: EnvReply = yield Act(self.session.env, acted, turn.seed, self.attempt.by)
        if reply.aux_request is not None:
            reply = yield from answer_aux_requests(
                self.attempt, self.session.env, reply, seed=turn.seed, aux_turns=self.aux_turns
            )
        self._acting = False
        # Turn(...) takes a third of the time of dataclasses.replace.
        turn = self.turns[-1] = Turn(**vars(turn) | {"replies": reply.replies, "facts": reply.facts})
        self.usage.add_turn(turn)
        new, ending = list(reply.messages), None
        if reply.done:
            ending = reply.ending or Ending("completed")
        elif acted is not turn.parsed or self.rules.budget.overdrawn_by_images(self.usage.spent):
            ending = Ending("truncated", "budget")
        elif k + 1 >= self.rules.max_turns:
            ending = Ending("truncated", "turns")
        else:
            ending, new = (yield from self._continue(k, completion.ids, new)), []
        self.messages += new
        if ending is None and self.rules.snapshots:
            state, ending = yield from work(self.session.snapshot)
            if ending is None:
                self.marks.append(Mark(len(self.messages), state, deepcopy(self.notes), len(self.aux_turns)))
        return ending

    def _continue(self, k: int, ids: list[int], reply: list[Message]) -> Generator[Request, Any, Ending | None]:
        """Append the reply to turn k, and messages of strategies; returns None if the next turn can begin."""
        continuation = self.rules.continuation(self) if self.rules.continuation else CONTINUE
        before, new = self.history, [*reply, *continuation.messages]
        self.messages += new  # before a request that may be stopped
        said = continuation.ending or (yield from interjected(self, self.messages))
        if isinstance(said, Ending):
            return said
        own = [*said, *budget_messages(self.rules.tell_budget, self._remaining(k + 1))]
        if continuation.new_sequence is not None:
            return self.new_sequence([*continuation.new_sequence, *own])
        self.messages += own
        part = self.attempt.format.extend(before, [*new, *own], ids, self.tools)
        fits = extend_sequences(self.sequences, part, turn=k, context=self.attempt.context)
        return None if fits else Ending("truncated", "length")

    def _remaining(self, k: int) -> Remaining:
        """Remaining limits before turn k."""
        turns = self.rules.max_turns - k
        return remaining_budget(self.rules.budget, self.usage.spent, turns=turns) if self._bounded else Remaining(turns)

    def _keep_partial(self, partial: Partial | None) -> Ending:
        """Record the sampled part of a turn of a stopped rollout, and in any case the part that a fork shares."""
        k = len(self.turns)
        shared = self._shared_turn(k)
        prefix = self._prefix if shared is None else shared.prefix
        sampled = partial if self._sampling and partial is not None and partial.ids else prefix
        if sampled is not None:
            finish = "length" if shared is None or shared.ended is None else shared.ended.finish
            seed = self._seed if self._sampling else derive_seed(self.attempt.seed, k)
            self._record(k, Completion(*sampled, finish), seed)
        return STOPPED

    def _close(self, ending: Ending) -> Generator[Request, Any, tuple[dict[str, Any], Ending]]:
        """Close the environment; returns its report and the ending, an infra_error if closing failed."""
        busy = self._acting  # a thread may still be at work in it, so its report would not be of the final state
        while True:
            try:
                found = yield Work(self.session.close if busy else self.session.report_and_close)
                return dict(found or {}), ending
            except Stopped:  # the rollout is over, and the request may have been dropped
                continue
            except Exception as error:
                return {}, ending if ending == STOPPED or ending.kind == "infra_error" else infra_error(error)

    def _trajectory(self, ending: Ending, facts: dict[str, Any]) -> Trajectory:
        attempt = self.attempt
        sequences = self.sequences or [SequenceBuilder(attempt.format.start(self.messages, self.tools))]
        made = Trajectory(
            id=attempt.id,
            task=attempt.task,
            sample=attempt.sample,
            turns=tuple(self.turns),
            sequences=tuple(builder.build() for builder in sequences),
            ending=ending,
            messages=tuple(self.messages),
            tools=self.tools,
            seed=attempt.seed,
            branch_of=None if self._beginning is None else self._beginning.branch,
            env=facts,
            seconds=sum([turn.seconds + sum([r.seconds for r in turn.replies]) for turn in self.turns])
            + sum([one.turn.seconds for one in self.aux_turns]),
            notes=self.notes,
            by=attempt.by,
            aux_turns=aux_trajectories(attempt, self.aux_turns),
        )
        return made if self.usage.outside == NOTHING else replace(made, total_usage=made.usage.plus(self.usage.outside))
