"""Turns and environments of a recorded trajectory, as inputs of a replay."""

from typing import Any

from handaxe.core.errors import InfrastructureError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Group, Message, ParsedTurn, Task, ToolSchema, Trajectory
from handaxe.core.requests import EnvReply, Partial
from handaxe.ops.turn_positions import initial_messages, turn_positions
from handaxe.rollouts.play.history import INTERJECT_NOTE

__all__ = ["Opening", "StandIn", "openings", "recorded_answer", "recorded_speech", "was_answered"]


class StandIn:
    """Substitute for an environment that is only started and closed: repeats the recorded report or failure. `forks`
    True: its snapshots are real, since some of its replies are.
    """

    def __init__(self, env: Env, recorded: Trajectory | None, *, forks: bool):
        self._env = env
        self._recorded = recorded
        self._forks = forks
        self.start = env.start
        self.step = env.step
        self.close = env.close

    def report(self) -> dict[str, Any]:
        if self._recorded is not None and self._recorded.ending.kind == "infra_error":
            raise InfrastructureError(self._recorded.ending.reason)
        return {} if self._recorded is None else dict(self._recorded.env)

    def snapshot(self) -> Any:
        return self._env.snapshot() if self._forks else None

    def restore(self, state: Any) -> None:
        if self._forks:
            self._env.restore(state)


class Opening:
    """Environment with the recorded opening only, for replays with recorded replies."""

    def __init__(self, recorded: Trajectory):
        self._recorded = recorded

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        one = self._recorded
        messages = initial_messages(one.messages, turns=len(one.turns))
        own = one.notes.get(INTERJECT_NOTE, []).count(0)  # of the strategy, which repeats them
        return tuple(messages[: len(messages) - own]), one.tools

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        del turn, seed
        raise InfrastructureError("the record has no such answer, and the tools are not there")

    def report(self) -> dict[str, Any]:
        return {}

    def snapshot(self) -> None:
        return None

    def restore(self, state: Any) -> None:
        del state

    def close(self) -> None:
        pass


def openings(group: Group) -> EnvFactory:
    """Make an environment factory that repeats the openings of a recorded group."""

    def factory(task: Task) -> Opening:
        del task
        return Opening(next((one for one in group if one.turns), group[0]))

    return factory


def recorded_speech(one: Trajectory, k: int) -> Partial:
    """Sampled tokens of turn k."""
    turn = one.turns[k]
    sequence, span = one.sequences[turn.sequence], slice(turn.start, turn.stop)
    arrays = sequence.ids, sequence.logp, sequence.behaviour_logp, sequence.version
    return Partial(*(array[span].tolist() for array in arrays))


def _extended(one: Trajectory, k: int) -> bool:
    """True if a reply follows turn k in the sequence, so that another turn could begin."""
    turn = one.turns[k]
    return turn.stop < len(one.sequences[turn.sequence]) or turn.sequence + 1 < len(one.sequences)


def _heard(one: Trajectory, k: int) -> tuple[int, int]:
    """Messages [start, stop) after the policy's message of turn k."""
    own = turn_positions(one.messages, turns=len(one.turns)) + [len(one.messages)] * len(one.turns)
    return own[k] + 1, own[k + 1]


def was_answered(one: Trajectory, k: int) -> bool:
    """True if the environment replied to turn k, even with an empty reply."""
    start, stop = _heard(one, k)
    return bool(one.turns[k].replies) or start < stop or _extended(one, k)


def recorded_answer(one: Trajectory, k: int) -> EnvReply:
    """Recorded reply of the environment to turn k. Messages named other than a tool are the rollout's."""
    start, stop = _heard(one, k)
    new = tuple(m for m in one.messages[start:stop] if m.role == "tool" or not m.name)
    over = k + 1 == len(one.turns) and one.ending.kind != "truncated" and not _extended(one, k)
    ending = one.ending if over and one.ending.kind not in ("completed", "verifier_error") else None
    return EnvReply(new, one.turns[k].replies, over, ending, one.turns[k].facts)
