"""Replies to the requests of a replayed rollout, from the record or by the real tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from handaxe.core.errors import InfrastructureError
from handaxe.core.protocols import ChatFormat, Env, EnvFactory, Rollout
from handaxe.core.records import STOPPED, Ending, Sampling, Task, Trajectory
from handaxe.core.requests import Act, AuxChat, Completion, EnvReply, Measure, Sample, Splice, Stopped, Work
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.driver.aux_engines import nested_aux_trajectories
from handaxe.rollouts.play.play import MEASURE_NOTE
from handaxe.rollouts.play.takeback import spliced_usage
from handaxe.training.replay.discrepancies import Discrepancy, What, differing, reply_difference
from handaxe.training.replay.recorded import StandIn, recorded_answer, recorded_speech, was_answered

__all__ = ["DepartError", "FromRecord", "Setup"]


@dataclass(frozen=True)
class Setup:
    """Parts of a replay: the run's rollout, chat format, environment and sampling, and its context in tokens.

    `aux_policies` are the environment's auxiliary policies; their replies come from the record.

    `tools` True calls the environment, False takes its replies from the record; it is made, started and closed either
    way.
    """

    rollout: Rollout
    format: ChatFormat
    env: EnvFactory
    sampling: Sampling
    context: int
    tools: bool = False
    aux_policies: Mapping[str, AuxChat] = field(default_factory=dict)


class DepartError(BaseException):
    """End of an impossible replay. A BaseException, so no strategy handles it."""

    def __init__(self, difference: Discrepancy):
        super().__init__(difference)
        self.difference = difference


class FromRecord:
    """Replies to one rollout's requests from the record of its trajectories, the root first."""

    def __init__(self, recorded: Sequence[Trajectory], setup: Setup):
        self.recorded, self.setup = recorded, setup
        self.all = [one for own in recorded for one in (own, *nested_aux_trajectories(own))]
        self.of = {one.id: one for one in self.all}
        self.turns: dict[int, tuple[Trajectory, int]] = {}
        for one in self.all:
            for k, turn in enumerate(one.turns):
                self.turns.setdefault(turn.seed, (one, k))  # a shared turn belongs to its first owner
        self.entered: set[str] = set()
        self.acted: set[tuple[str, int]] = set()
        self.spoken: set[int] = set()
        self.name = ""
        self.cut: set[str] = set()
        self.differences: list[Discrepancy] = []

    # --- answers -----------------------------------------------------------------------------------------------

    def speak(self, name: str, request: Sample) -> Completion:
        """Return the recorded turn of this seed."""
        if request.seed not in self.turns:
            one = self.of.get(name, self.recorded[0])
            if one.ending == STOPPED or one.ending.kind == "infra_error":
                self.cut.add(one.id)  # no turn followed
                raise Stopped
            words = f"it has {len(one.turns)} turns, none of seed {request.seed}"
            self.depart(one, "requests", words, f"turn {request.turn} is asked for", turn=request.turn)
        one, k = self.turns[request.seed]
        self.spoken.add(request.seed)
        turn, sequence = one.turns[k], one.sequences[one.turns[k].sequence]
        begun = request.prefix.ids if request.prefix else []
        asked = np.array([*request.ids, *begun])
        token = differing(sequence.ids[: turn.start + len(begun)], asked)
        if token is not None:
            then = str(sequence.ids[token]) if token < turn.start + len(begun) else "the policy's turn"
            now = str(asked[token]) if token < len(asked) else "the policy's turn"
            self.depart(one, "requests", f"id {then}", f"id {now}", turn=k, sequence=turn.sequence, token=token)
        said = recorded_speech(one, k)
        if one.ending == STOPPED and turn.finish == "length" and k + 1 == len(one.turns):
            raise Stopped(said)
        if len(said.ids) > request.sampling.max_tokens:
            most = f"at most {request.sampling.max_tokens}"
            self.depart(one, "requests", f"{len(said.ids)} tokens", f"{most} are asked for", turn=k)
        usage = spliced_usage(one.notes, k)
        own = int((~sequence.forced[turn.start : turn.stop]).sum())
        splice = None if usage is None else Splice(own, usage)
        return Completion(*said, turn.finish, turn.seconds, turn.cost, splice)

    def act(self, name: str, request: Act) -> EnvReply:
        """Return the recorded reply, or the environment's."""
        if request.seed not in self.turns:
            one = self.of.get(name, self.recorded[0])
            self.depart(one, "replies", f"no turn has seed {request.seed}", "an environment is asked with it")
        one, k = self.turns[request.seed]
        if one.ending == STOPPED and not was_answered(one, k) and not (self.setup.tools and self.asks_left(one, k)):
            raise Stopped
        recorded = recorded_answer(one, k)
        self.acted.add((one.id, k))
        if not self.setup.tools or (recorded.ending and recorded.ending.kind == "infra_error"):
            return recorded
        try:
            reply = request.env.step(request.turn, seed=request.seed)
        except Exception as error:  # as in every driver
            reply = EnvReply(done=True, ending=Ending("infra_error", f"{type(error).__name__}: {error}"))
        if reply.aux_request is not None:
            return reply
        seconds = {r.call_id: r.seconds for r in recorded.replies}
        timed = tuple(replace(r, seconds=seconds.get(r.call_id, r.seconds)) for r in reply.replies)
        for i in range(max(len(recorded.replies), len(timed))):
            pair = [replies[i] if i < len(replies) else None for replies in (recorded.replies, timed)]
            self.differences += [d for d in [reply_difference(one.id, k, *pair)] if d]
        return reply._replace(replies=timed)

    def measure(self, name: str, request: Measure) -> dict[str, list[float]]:
        """Return the recorded measures."""
        found = [one.notes[MEASURE_NOTE] for one in self.all if request.key in one.notes.get(MEASURE_NOTE, {})]
        if not found:
            one = self.of.get(name, self.recorded[0])
            if one.ending == STOPPED or one.ending.kind == "infra_error":
                self.cut.add(one.id)
                raise Stopped
            self.depart(one, "requests", "no such measurement", f"{', '.join(request.names)} of {len(request.ids)} ids")
        return found[0][request.key]

    def work(self, name: str, request: Work) -> Any:
        """Do the work again. A rollout stopped before its environment existed is stopped again; a failed takeback,
        which leaves no other trace in the record, fails again.
        """
        self.name, first = name, name not in self.entered
        self.entered.add(name)
        one = self.of.get(name)
        if first and one is not None and one.ending == STOPPED and not self.began(one):
            raise Stopped
        if request.back and one is not None and (one.id, len(one.turns) - 1) in self.acted:
            if one.ending == STOPPED:
                raise Stopped
            if one.ending.kind == "infra_error":
                raise InfrastructureError(one.ending.reason)
        return request.call()

    def began(self, one: Trajectory) -> bool:
        """Return True if a trajectory shows that its environment was started."""
        own = any(self.turns[turn.seed][0] is one for turn in one.turns)
        return own or (one.branch_of is None and (bool(one.tools) or one.messages != one.task.messages))

    def asks_left(self, one: Trajectory, k: int) -> bool:
        """Return True if the environment's requests to auxiliary policies in turn k exceed the replayed ones so far."""
        numbers = range(sum(len(said.turns) for said in one.aux_turns))
        draws = {derive_seed(one.turns[k].seed, said.by, number) for said in one.aux_turns for number in numbers}
        return bool(draws & (self.turns.keys() - self.spoken))

    def make(self, task: Task) -> Env:
        """Make the environment, as far as the replay uses it; a recorded failure of making or starting is repeated."""
        one = self.of.get(self.name)
        if one is not None and one.ending.kind == "infra_error" and not self.began(one):
            raise InfrastructureError(one.ending.reason)
        env = self.setup.env(task)
        if self.setup.tools and (one is None or one.ending.kind != "infra_error"):
            return env
        return StandIn(env, one, forks=self.setup.tools)

    def depart(
        self,
        one: Trajectory,
        what: What,
        recorded: str,
        replayed: str,
        *,
        turn: int | None = None,
        sequence: int | None = None,
        token: int | None = None,
    ) -> NoReturn:
        """End the replay with a discrepancy."""
        raise DepartError(Discrepancy(one.id, what, recorded, replayed, turn, sequence, token))
