"""Plays recorded attempts again without a model: what the policy said comes from the record, all else is done anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from handaxe.errors import InfrastructureError, RecordError
from handaxe.exchange import Act, Attempt, Completion, EnvReply, Sample, Stopped, Work
from handaxe.invariants import check_group
from handaxe.records import Ending, Group, Sampling, Task, Trajectory
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.slots import ChatFormat, Env, EnvFactory, Rollout
from handaxe.training.discrepancies import Discrepancy, What, differing, discrepancies, reply_difference
from handaxe.training.recorded import StandIn, recorded_answer, recorded_speech, was_answered

__all__ = ["Replayed", "Stage", "attempts_of", "replay"]

STOPPED = Ending("truncated", "stopped")


@dataclass(frozen=True)
class Replayed:
    """A recorded trajectory that was played again, and what differs; nothing where it is the same."""

    trajectory: Trajectory
    differences: tuple[Discrepancy, ...]


@dataclass(frozen=True)
class Stage:
    """With what to play: the run's own rollout, chat format, environment and sampling, and its context in tokens.

    `tools` True lets the environment answer, False takes its answers from the record; it is made, started and closed
    either way.
    """

    rollout: Rollout
    format: ChatFormat
    env: EnvFactory
    sampling: Sampling
    context: int
    tools: bool = False


def replay(group: Group, stage: Stage) -> list[Replayed]:
    """Play every attempt of a recorded group again, one after the other.

    A Sample is answered with the recorded turn of its seed, after a look at whether the policy is asked the same ids
    as then; where it is not, the attempt is not played further. An Act is answered by the record or by the tools.
    What is not the rollout's doing happens as it did then: an attempt that was stopped is stopped at the same token,
    and a failure of the machinery is repeated from the record, with real tools too. Seconds are those of the record,
    so that budgets end where they did.

    Args:
        group: as the record has it, superseded and stopped attempts included. Forks are played with what they left.
        stage: with what.

    Returns:
        One a trajectory, in the order of the group.

    Raises:
        InputError: what rollout, format or environment raise for a task they cannot take.
    """
    found: dict[str, list[Discrepancy]] = {one.id: [] for one in group}
    try:
        check_group(group)
    except RecordError as error:
        named = [one.id for one in group if f"trajectory {one.id!r} " in str(error)]
        found[(named or list(found))[0]].append(Discrepancy((named or list(found))[0], "record", str(error), ""))
    for trajectories in attempts_of(group):
        for difference in _Again(trajectories, stage).play():
            found.setdefault(difference.trajectory, []).append(difference)
    return [Replayed(one, tuple(found[one.id])) for one in group]


def attempts_of(group: Group) -> list[list[Trajectory]]:
    """The trajectories of each attempt: one, and those that were forked from it, directly or not."""
    attempts: dict[str, list[Trajectory]] = {}
    for one in group:
        attempts.setdefault(_root(one, group).id, []).append(one)
    return list(attempts.values())


def _root(one: Trajectory, group: Group) -> Trajectory:
    """The trajectory whose id is that of its attempt: itself, or what it was forked from, and so on."""
    siblings = {sibling.id: sibling for sibling in group}
    seen = {one.id}
    while one.branch_of and one.branch_of.trajectory in siblings.keys() - seen:
        one = siblings[one.branch_of.trajectory]
        seen.add(one.id)
    return one


class _DepartError(BaseException):
    """The attempt cannot be played further. No strategy is to handle it, so it is no Exception."""

    def __init__(self, difference: Discrepancy):
        super().__init__(difference)
        self.difference = difference


class _Again:
    """One attempt: answers its requests from the record of its trajectories, the attempt's own first."""

    def __init__(self, recorded: Sequence[Trajectory], stage: Stage):
        self.recorded, self.stage = recorded, stage
        self.of = {one.id: one for one in recorded}
        self.turns: dict[int, tuple[Trajectory, int]] = {}
        for one in recorded:
            for k, turn in enumerate(one.turns):
                self.turns.setdefault(turn.seed, (one, k))  # what is shared is its first owner's
        self.entered: set[str] = set()
        self.name = ""
        self.cut: set[str] = set()
        self.differences: list[Discrepancy] = []

    def play(self) -> list[Discrepancy]:
        """What differs."""
        first, stage = self.recorded[0], self.stage
        sampling = first.turns[0].sampling if first.turns else stage.sampling
        attempt = Attempt(
            first.task, self.make, stage.format, sampling, first.id, first.sample, first.seed, stage.context
        )
        try:
            made = run_plan(stage.rollout(attempt), sample=self.speak, act=self.act, work=self.work, name=first.id)
        except _DepartError as depart:
            others = [one.id for one in self.recorded if one.id != depart.difference.trajectory]
            why = f"not played to its end, since {depart.difference.trajectory} departs"
            return [*self.differences, depart.difference, *(Discrepancy(id, "ids", "played", why) for id in others)]
        again = {one.id: one for one in made}
        for id, one in self.of.items():
            if id in again:
                found = discrepancies(one, again[id], ending=id not in self.cut, state=stage.tools and _reports(one))
                told = {(d.trajectory, d.what) for d in self.differences}
                self.differences += [d for d in found if (d.trajectory, d.what) not in told]
            else:
                self.differences.append(Discrepancy(id, "ids", "played", "no such trajectory is returned"))
        extra = [id for id in again if id not in self.of]
        self.differences += [Discrepancy(first.id, "ids", "not there", f"{id} is returned, too") for id in extra]
        return self.differences

    # --- answers -----------------------------------------------------------------------------------------------

    def speak(self, name: str, request: Sample) -> Completion:
        """The recorded turn of this seed."""
        if request.seed not in self.turns:
            one = self.of.get(name, self.recorded[0])
            if one.ending == STOPPED or one.ending.kind == "infra_error":
                self.cut.add(one.id)  # nothing followed
                raise Stopped
            words = f"it has {len(one.turns)} turns, none of seed {request.seed}"
            self.depart(one, "requests", words, f"turn {request.turn} is asked for", turn=request.turn)
        one, k = self.turns[request.seed]
        turn, sequence = one.turns[k], one.sequences[one.turns[k].sequence]
        begun = request.begun.ids if request.begun else []
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
        return Completion(*said, turn.finish, turn.seconds, turn.cost)

    def act(self, name: str, request: Act) -> EnvReply:
        """The recorded answer, or that of the environment."""
        if request.seed not in self.turns:
            one = self.of.get(name, self.recorded[0])
            self.depart(one, "replies", f"no turn has seed {request.seed}", "an environment is asked with it")
        one, k = self.turns[request.seed]
        if one.ending == STOPPED and not was_answered(one, k):
            raise Stopped
        recorded = recorded_answer(one, k)
        if not self.stage.tools or (recorded.ending and recorded.ending.kind == "infra_error"):
            return recorded
        try:
            reply = request.env.step(request.turn, seed=request.seed)
        except Exception as error:  # as any driver does
            reply = EnvReply(done=True, ending=Ending("infra_error", f"{type(error).__name__}: {error}"))
        seconds = {r.call_id: r.seconds for r in recorded.replies}
        timed = tuple(replace(r, seconds=seconds.get(r.call_id, r.seconds)) for r in reply.replies)
        for i in range(max(len(recorded.replies), len(timed))):
            pair = [replies[i] if i < len(replies) else None for replies in (recorded.replies, timed)]
            self.differences += [d for d in [reply_difference(one.id, k, *pair)] if d]
        return reply._replace(replies=timed)

    def work(self, name: str, request: Work) -> Any:
        """Done anew; but an attempt that was stopped before its environment was there is stopped again."""
        self.name, first = name, name not in self.entered
        self.entered.add(name)
        one = self.of.get(name)
        if first and one is not None and one.ending == STOPPED and not self.began(one):
            raise Stopped
        return request.call()

    def began(self, one: Trajectory) -> bool:
        """Whether anything in a trajectory shows that its environment was started."""
        own = any(self.turns[turn.seed][0] is one for turn in one.turns)
        return own or (one.branch_of is None and (bool(one.tools) or one.messages != one.task.messages))

    def make(self, task: Task) -> Env:
        """The environment, as far as it is played for real; what failed when it was made or started fails again."""
        one = self.of.get(self.name)
        if one is not None and one.ending.kind == "infra_error" and not self.began(one):
            raise InfrastructureError(one.ending.reason)
        env = self.stage.env(task)
        if self.stage.tools and (one is None or one.ending.kind != "infra_error"):
            return env
        return StandIn(env, one, forks=self.stage.tools)

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
        """Give the attempt up."""
        raise _DepartError(Discrepancy(one.id, what, recorded, replayed, turn, sequence, token))


def _reports(one: Trajectory) -> bool:
    return one.ending.kind != "infra_error" and one.ending != STOPPED
