"""One attempt at work: what `linear`, `forking` and any strategy of your own are made of.

    play = Play(attempt, Rules(max_turns=4))
    trajectory = yield from play.whole()        opens the environment, plays turn after turn, closes it

A strategy that does something between turns hands `whole` its own generator, which calls `play.turn()`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.protocols import RolloutPlan
from handaxe.core.records import STOPPED, Ending, Message, ParsedTurn, Spent, ToolCall, ToolSchema, Trajectory, Turn
from handaxe.core.requests import (
    Act,
    Attempt,
    Completion,
    EnvReply,
    Measure,
    Partial,
    Put,
    Sample,
    Spawn,
    Stopped,
    Work,
)
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.budget import SPEAKER, Left, left_of, say_left
from handaxe.rollouts.play.answered_again import answered_again
from handaxe.rollouts.play.asking import OtherTurn, hear, of_others
from handaxe.rollouts.play.env_session import EnvSession, infra_error, work
from handaxe.rollouts.play.history import GO_ON, history, note_anew
from handaxe.rollouts.play.rules import UNBOUNDED, Beginning, Mark, Rules
from handaxe.rollouts.play.sequence_builder import SequenceBuilder
from handaxe.rollouts.play.used import Used

__all__ = ["MEASURED", "PUT", "Play", "Request"]

Request = Sample | Measure | Act | Work | Spawn
MEASURED = "measured"
"""The note in which a play keeps what it measured."""
PUT = "put"
"""The note in which a play keeps what was used up by the turns that one stands in the place of, by its number."""


class Play:
    """One attempt. Read `messages`, `tools`, `turns`, `sequences` (in the making) and, where the rules say snapshots,
    `marks` (one a turn, the next included), and leave them as they are. Write into `notes` (JSON) what the strategy has
    to say of the attempt: they end in the trajectory, no token is made of them, and a fork begins with those from
    before its turn.

    Args:
        attempt: what is played.
        rules: how.
        beginning: what it shares with another play; nothing unless told otherwise.

    Idea: the loop of every tool-using agent, cut open between turns for strategies that branch or look there.

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
        self.said: list[OtherTurn] = []
        self._bounded, self._seed = rules.budget != UNBOUNDED, 0
        self._begun: Partial | None = None
        spent = besides = Spent()
        self._beginning, self._shared = beginning, 0
        self.over = self._opened = self._sampling = self._acting = False
        state = None
        if beginning is not None:
            self.messages, self.tools = beginning.messages, beginning.tools
            self.sequences, self.marks = beginning.sequences, beginning.marks
            self.turns, self._shared = beginning.turns, len(beginning.turns)
            spent, state = Spent.of(beginning.turns), beginning.marks[-1].state
            self.notes, self.said = deepcopy(beginning.marks[-1].notes), list(beginning.said or ())
            besides = beginning.again or besides
        self._used = Used(counts=self._bounded, spent=spent, besides=besides)
        snapshots = rules.snapshots and beginning is None
        self._session = EnvSession(attempt.env, attempt.task, name=attempt.id, state=state, snapshots=snapshots)

    def plan(self) -> RolloutPlan:
        """The play as a plan of its own, for a Spawn."""
        return [(yield from self.whole())]

    def whole(self, turns: Generator[Request, Any, Ending] | None = None) -> Generator[Request, Any, Trajectory]:
        """Open the environment, play, close it, whatever happens.

        Args:
            turns: what to do in between; it says how the attempt ended. Turn after turn unless told otherwise.
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
            self._session.close()
        self.over = True
        return self._trajectory(ending, facts)

    def turn(self, *, seed: int | None = None, begun: Partial | None = None) -> Generator[Request, Any, Ending | None]:
        """Play one turn and its answer; how the attempt ended thereby, or None when it can go on.

        Args:
            seed: of the turn; its own by its number unless told otherwise.
            begun: what it begins with: tokens that the policy drew in this very place, of a turn that was taken back.
                It stands in that one's place (`was_put`) and is recorded with its seed, whatever it is drawn from.
        """
        k, kept = len(self.turns), 0 if begun is None else len(begun.ids)
        if k >= self.rules.max_turns:
            return Ending("truncated", "turns")
        left, space = self._left(k), self.attempt.context - len(self.sequences[-1].ids)
        tokens = None if left.tokens is None else left.tokens + kept
        limit = min(self.attempt.sampling.max_tokens, space if tokens is None else min(space, tokens))
        if left.nothing or limit <= kept:
            return Ending("truncated", "budget" if left.nothing else "length")
        own = derive_seed(self.attempt.seed, k)
        spent = None if begun is None else self._used.in_place(kept)
        self._begun, self._seed = begun if kept else None, own if begun is not None or seed is None else seed
        try:
            completion = yield from self._sample(k, limit, own if seed is None else seed)
        except InfrastructureError as error:  # sampled elsewhere, which failed
            self._sampling = False
            return infra_error(error)
        self._begun = None
        if spent is not None:
            completion = completion._replace(put=Put(len(completion.ids), spent))
        elif completion.put is not None:
            self._used.add(completion.put.spent)
            tokens = None if tokens is None else tokens - completion.put.spent.tokens
        turn = self._record(k, completion, self._seed)
        if completion.finish != "stop":  # it is not answered, and may be taken back
            self._used.turn(turn)
        if completion.finish == "length":
            return Ending("truncated", "budget" if len(completion.ids) == tokens else "length")
        if completion.finish == "header":
            return Ending("policy_error", "it began another speaker's turn")
        return (yield from self._act(k, turn, completion))

    def anew(self, messages: Sequence[Message]) -> Ending | None:
        """Begin a new sequence: the next turn reads these messages in the place of the conversation so far.

        Both sequences belong to the one trajectory. Those of the messages that are not in the conversation yet join it
        and carry a `name`. What the new sequence began with stands in notes["anew"] (see `rollouts.play.history`).

        Returns:
            How the attempt ended, where the messages alone are longer than the context; None otherwise.
        """
        self.messages = [*self.messages, *(message for message in messages if message not in self.messages)]
        part = self.attempt.format.start(messages, self.tools)
        if len(part.ids) > self.attempt.context:
            return Ending("truncated", "length")
        note_anew(self.messages, self.notes, messages)
        self.sequences.append(SequenceBuilder(part))
        return None

    def rewind(self, k: int) -> Generator[Request, Any, Ending | None]:
        """Take back turn k and all after it: tokens, messages, notes, and the environment's state.

        What they used up stays used up: budgets count it, and `Trajectory.spent` tells it.

        Returns:
            How the attempt ended, where the environment could not be put back; None otherwise.

        Raises:
            InputError: the rules do not say snapshots=True, or there is no such turn to take back here.
        """
        if k >= min(len(self.turns), len(self.marks)):
            raise InputError(f"{self.attempt.id!r} cannot go back to before turn {k}: there is no snapshot, or no turn")
        mark, first = self.marks[k], self.turns[k]
        assert mark.state is not None
        _, ending = yield from work(partial(self._session.restore, mark.state), back=True)
        if ending is not None:
            return ending
        others = Spent.of(one.turn for one in self.said[mark.said :])._replace(tokens=0, calls=0)
        stood_for = [Spent(*spent) for turn, spent in self.notes.get(PUT, {}).items() if int(turn) >= k]
        self._used.take_back(Spent.of(self.turns[k:]).together(others), stood_for)
        self.said = self.said[: mark.said]
        self.messages, self.notes = self.messages[: mark.messages], deepcopy(mark.notes)
        self.turns, self.marks = self.turns[:k], self.marks[: k + 1]
        self._shared = -1
        self.sequences = [*self.sequences[: first.sequence], self.sequences[first.sequence].prefix(first.start)]
        return None

    def put(self, spoken: Completion, *, own: int) -> Generator[Request, Any, Ending | None]:
        """Play a turn of tokens that were drawn in turns taken back, and its answer; as `turn` otherwise.

        Args:
            spoken: the turn, which ended by itself.
            own: how many of its first tokens the policy drew in this very place. The others are FORCED: they train,
                and their `behaviour_logp` is that of where they were drawn.
        """
        k, seed = len(self.turns), derive_seed(self.attempt.seed, len(self.turns))
        counted = self._used.in_place(len(spoken.ids))  # its tokens were counted where they were drawn
        turn = self._record(k, spoken._replace(put=Put(own, counted)), seed)
        return (yield from self._act(k, turn, spoken))

    def was_put(self, k: int) -> bool:
        """Whether turn k was not drawn in its place, but put there."""
        return str(k) in self.notes.get(PUT, {})

    @property
    def history(self) -> list[Message]:
        """The messages that stand in the present sequence, in order: all of them until `anew`."""
        return history(self.messages, self.notes)

    @property
    def left(self) -> Left:
        """What turns and budget still allow."""
        return self._left(len(self.turns))

    def measure(self, request: Measure) -> Generator[Request, Any, dict[str, list[float]]]:
        """What the model says of ids, such as those of the last turn. A replay finds it in `notes`."""
        if self.attempt.by:
            raise InputError(f"{self.attempt.id!r} is played by {self.attempt.by!r}; only the policy can be measured")
        found: dict[str, list[float]] = yield request
        self.notes.setdefault(MEASURED, {})[request.key] = found
        return found

    def so_far(self) -> Trajectory:
        """What there is yet, as an attempt that was stopped here: for a judge that is asked between two turns."""
        return self._trajectory(STOPPED, {})

    # --- inside ------------------------------------------------------------------------------------------------

    def _open(self) -> Generator[Request, Any, Ending | None]:
        opened, ending = yield from work(self._session.open, opens=self.attempt.env)
        if ending is not None:
            return ending
        self._opened = True
        if self._beginning is not None:
            self._acting = True
            ending = yield from answered_again(self._beginning, opened, self._session.env)
            self._acting = False
            return ending
        self.messages, self.tools = list(opened.messages), opened.tools
        self.sequences = [SequenceBuilder(self.attempt.format.start(self.messages, self.tools))]
        self.marks = [Mark(len(self.messages), opened.state, deepcopy(self.notes))]
        return None

    def _all_turns(self) -> Generator[Request, Any, Ending]:
        while (ending := (yield from self.turn())) is None:
            pass
        return ending

    def _sample(self, k: int, limit: int, seed: int) -> Generator[Request, Any, Completion]:
        """What the policy says in turn k."""
        shared = self._shared_turn(k)
        if shared is not None and (spoken := shared.spoken(limit)) is not None:
            return spoken
        begun = self._begun if shared is None else shared.begun
        sampling, format = self.attempt.sampling, self.attempt.format
        if limit != sampling.max_tokens:
            sampling = replace(sampling, max_tokens=limit)
        ids = self.sequences[-1].ids[:]  # a copy, since the builder grows and an engine may keep what it is asked
        self._sampling = True
        completion: Completion = yield Sample(
            ids, sampling, seed, format.stop_ids, format.header_ids, k, begun, self.attempt.by
        )
        self._sampling = False
        return completion

    def _shared_turn(self, k: int) -> Beginning | None:
        """What a fork shares of turn k, or begins it with."""
        return self._beginning if k == self._shared else None

    def _record(self, k: int, completion: Completion, seed: int) -> Turn:
        put, shared = completion.put, self._shared_turn(k)
        places = range(put.own, len(completion.ids)) if put is not None else () if shared is None else shared.forced
        forced = [place for place in places if place < len(completion.ids)]
        start, stop = self.sequences[-1].append_sampled(completion, turn=k, forced=forced)
        if put is not None:
            self.notes[PUT] = {**self.notes.get(PUT, {}), str(k): list(put.spent)}
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
        """Let the environment answer; None when the next turn can begin."""
        carried_out, most = turn.parsed, self.rules.budget.calls
        if most is not None and len(carried_out.calls) > most - self._used.spent.calls:
            carried_out = replace(carried_out, calls=carried_out.calls[: most - self._used.spent.calls])
            if not carried_out.calls:
                self._used.turn(turn)
                return Ending("truncated", "budget")
        self._acting = True
        reply: EnvReply = yield Act(self._session.env, carried_out, turn.seed, self.attempt.by)
        if reply.asks is not None:
            reply = yield from hear(self.attempt, self._session.env, reply, seed=turn.seed, said=self.said)
        self._acting = False
        came = {"replies": reply.replies, "facts": reply.facts}
        turn = self.turns[-1] = Turn(**vars(turn) | came)  # as `replace`, in a third of its time
        self._used.turn(turn)
        new, ending = list(reply.messages), None
        if reply.done:
            ending = reply.ending or Ending("completed")
        elif carried_out is not turn.parsed:
            ending = Ending("truncated", "budget")
        elif k + 1 >= self.rules.max_turns:
            ending = Ending("truncated", "turns")
        else:
            following = self.rules.following(self) if self.rules.following else GO_ON
            told = self._budget_message(k)
            if following.anew is not None:
                self.messages, new = [*self.messages, *new, *following.said], []
                ending = self.anew([*following.anew, *told])
            else:
                new += [*following.said, *told]
                ending = None if self._extend(k, completion.ids, new) else Ending("truncated", "length")
        self.messages += new
        if ending is None and self.rules.snapshots:
            state, ending = yield from work(self._session.snapshot)
            self.marks += [] if ending else [Mark(len(self.messages), state, deepcopy(self.notes), len(self.said))]
        return ending

    def _budget_message(self, k: int) -> list[Message]:
        tell = self.rules.tell_budget
        if tell is False:
            return []
        return [Message("user", (say_left if tell is True else tell)(self._left(k + 1)), name=SPEAKER)]

    def _left(self, k: int) -> Left:
        """What is left before turn k."""
        turns = self.rules.max_turns - k
        return left_of(self.rules.budget, self._used.spent, turns=turns) if self._bounded else Left(turns)

    def _extend(self, k: int, ids: list[int], new: list[Message]) -> bool:
        """Write a reply to the sequence; False, with nothing written, where a model could not read it all."""
        part = self.attempt.format.extend(self.history, new, ids, self.tools)
        before = 0 if part.fresh else len(self.sequences[-1].ids)
        if before + len(part.ids) > self.attempt.context:
            return False
        if part.fresh:
            self.sequences.append(SequenceBuilder(part))
        else:
            self.sequences[-1].append_rendered(part, turn=k)
        return True

    def _keep_partial(self, partial: Partial | None) -> Ending:
        """Keep what was sampled of a turn when the attempt was stopped, and in any case what a fork shares of it."""
        k = len(self.turns)
        shared = self._shared_turn(k)
        begun = self._begun if shared is None else shared.begun
        said = partial if self._sampling and partial is not None and partial.ids else begun
        if said is not None:
            finish = "length" if shared is None or shared.whole is None else shared.whole.finish
            seed = self._seed if self._sampling else derive_seed(self.attempt.seed, k)
            self._record(k, Completion(*said, finish), seed)
        return STOPPED

    def _close(self, ending: Ending) -> Generator[Request, Any, tuple[dict[str, Any], Ending]]:
        """Close the environment; its report, and the ending, which is an infra_error when that failed."""
        busy = self._acting  # it may be at work in a thread still, so what it would report is not its final state
        while True:
            try:
                found = yield Work(self._session.close if busy else self._session.report_and_close)
                return dict(found or {}), ending
            except Stopped:  # the attempt is over anyway, and what was begun may have been dropped
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
            + sum([one.turn.seconds for one in self.said]),
            notes=self.notes,
            by=attempt.by,
            asked=of_others(attempt, self.said),
        )
        return made if self._used.besides == Spent() else replace(made, spent=made.used.together(self._used.besides))
