"""What a recorded trajectory says of its turns and its environment, in the words of a rollout: for a replay."""

from typing import Any

from handaxe.core.errors import InfrastructureError
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Group, Message, ParsedTurn, Task, ToolSchema, Trajectory
from handaxe.core.requests import EnvReply, Partial
from handaxe.ops.turn_positions import initial_messages, turn_positions

__all__ = ["Opening", "StandIn", "openings", "recorded_answer", "recorded_speech", "was_answered"]


class StandIn:
    """Stands in for an environment that is started and closed, and asked for nothing else: it reports what was reported
    then, or fails as it did. `forks`: its state is real, since some of its answers are."""

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
    """An environment that only says what was said at the start of an attempt; implements `slots.Env` as far as a replay
    needs it whose replies come from the record."""

    def __init__(self, recorded: Trajectory):
        self._recorded = recorded

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        one = self._recorded
        return tuple(initial_messages(one.messages, turns=len(one.turns))), one.tools

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
    """Makes environments that open as those of a recorded group did."""

    def factory(task: Task) -> Opening:
        del task
        return Opening(next((one for one in group if one.turns), group[0]))

    return factory


def recorded_speech(one: Trajectory, k: int) -> Partial:
    """What the policy said in turn k."""
    turn = one.turns[k]
    sequence, span = one.sequences[turn.sequence], slice(turn.start, turn.stop)
    arrays = sequence.ids, sequence.logp, sequence.behaviour_logp, sequence.version
    return Partial(*(array[span].tolist() for array in arrays))


def _extended(one: Trajectory, k: int) -> bool:
    """Whether a reply was written after turn k, so that another turn could follow."""
    turn = one.turns[k]
    return turn.stop < len(one.sequences[turn.sequence]) or turn.sequence + 1 < len(one.sequences)


def _heard(one: Trajectory, k: int) -> tuple[int, int]:
    """The messages [start, stop) that follow what the policy said in turn k."""
    own = turn_positions(one.messages, turns=len(one.turns)) + [len(one.messages)] * len(one.turns)
    return own[k] + 1, own[k + 1]


def was_answered(one: Trajectory, k: int) -> bool:
    """Whether the environment answered turn k, be it with nothing."""
    start, stop = _heard(one, k)
    return bool(one.turns[k].replies) or start < stop or _extended(one, k)


def recorded_answer(one: Trajectory, k: int) -> EnvReply:
    """What the environment answered to turn k. A message with a name that is no tool's is the rollout's own."""
    start, stop = _heard(one, k)
    new = tuple(m for m in one.messages[start:stop] if m.role == "tool" or not m.name)
    over = k + 1 == len(one.turns) and one.ending.kind != "truncated" and not _extended(one, k)
    ending = one.ending if over and one.ending.kind not in ("completed", "verifier_error") else None
    return EnvReply(new, one.turns[k].replies, over, ending, one.turns[k].facts)
