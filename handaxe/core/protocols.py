"""The signature of every role, on one page. A mechanism is any callable or object that fits one of these.

    tasks --Curriculum--> [Task] --Rollout(Engine, Env)--> [Group] --Reward--> Scores
    (Group, Scores) --Credit--> Advantages          [Rated] --Selector--> [Rated]
    [Rated] --batch--> Batch          (PolicyOut, Batch) --Loss--> LossOut --Engine--> new weights

Nothing here is registered or looked up by name: import the function you want and pass it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.judging import Fittable, Judge, Labelled, PairJudge, StepJudge
from handaxe.core.records import (
    Advantages,
    Criterion,
    Group,
    Message,
    Pair,
    ParsedTurn,
    Rated,
    Sampling,
    Scores,
    Task,
    ToolSchema,
    Trajectory,
)
from handaxe.core.requests import Act, Attempt, Completion, EnvReply, Measure, Rendered, Sample, Spawn, Work
from handaxe.core.streams import Stream, Streams

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import torch

    from handaxe.tools.deadline import Threads

__all__ = [
    "AsyncEnv",
    "AuxPolicy",
    "Bounded",
    "ChatFormat",
    "Check",
    "Copyable",
    "Credit",
    "Curriculum",
    "Engine",
    "Env",
    "EnvFactory",
    "Fittable",
    "FromPolicy",
    "HiddenMeasure",
    "Judge",
    "KeptEngine",
    "Labelled",
    "Learner",
    "Loss",
    "Measures",
    "OnAuxReply",
    "PairJudge",
    "Pairs",
    "Restarts",
    "Reward",
    "Rollout",
    "RolloutPlan",
    "Selector",
    "Shape",
    "Shaper",
    "Source",
    "Stage",
    "StageContext",
    "Stateful",
    "StepJudge",
    "Stream",
    "Streams",
]


@runtime_checkable
class Stateful(Protocol):
    """Anything that must remember across steps; saved in checkpoints. `isinstance(part, Stateful)` asks for it."""

    def state_dict(self) -> dict[str, Any]:
        """JSON-like state (numbers, strings, lists, dicts)."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        ...


# --- tasks -----------------------------------------------------------------------------------------------------


class Curriculum(Protocol):
    """What to try next. Seeded: the same (step, count) after the same observations gives the same tasks."""

    def next(self, step: int, count: int) -> list[Task]:
        """The `count` tasks of this step. Before another part of a run begins at 0: none of step -1."""
        ...

    def observe(self, groups: Sequence[Rated]) -> None:
        """What came of them, before selection."""
        ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


# --- environment -----------------------------------------------------------------------------------------------


class Env(Protocol):
    """Made for one task, used once, closed. Messages in, reply out; never sees tokens or the policy."""

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        """The opening messages and the tools offered."""
        ...

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Answer one turn of the policy. May block; raises InfrastructureError when its machinery dies."""
        ...

    def report(self) -> Mapping[str, Any]:
        """JSON facts about the final state, for rewards."""
        ...

    def snapshot(self) -> Any:
        """An opaque value from which `restore` makes the same state again."""
        ...

    def restore(self, state: Any) -> None:
        """Go back to a snapshot, of this or of another Env of the same task."""
        ...

    def close(self) -> None:
        """Release everything. Called exactly once, whatever happened."""
        ...


@runtime_checkable
class AsyncEnv(Protocol):
    """An Env that can wait without holding a thread: the driver then awaits `astep` on its loop instead of `step`."""

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        """As `Env.step`, never blocking; what blocks is done by `await threads.run(work)`. May be cancelled."""
        ...


@runtime_checkable
class OnAuxReply(Protocol):
    """An Env that asks others than the policy (`EnvReply.asks`), such as a simulated user."""

    def heard(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Go on after what the other said to the question asked last; it may ask again."""
        ...


EnvFactory = Callable[[Task], Env]


@runtime_checkable
class Bounded(Protocol):
    """An EnvFactory of which not as many environments may be open at the same time as one likes: a driver has further
    attempts wait before they begin."""

    most: int
    """Environments that may be open in one driver, >= 1."""


# --- chat formats ----------------------------------------------------------------------------------------------


class ChatFormat(Protocol):
    """Renders message deltas to ids and parses sampled ids. Text of users and tools never yields a control id."""

    stop_ids: frozenset[int]
    """Ids with which the policy ends its turn; sampled, kept and trained."""
    header_ids: frozenset[int]
    """Ids that begin another speaker's turn; sampling one ends the turn with finish="header"."""

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """The whole opening, up to and including what precedes the policy's first token."""
        ...

    def extend(
        self, history: Sequence[Message], new: Sequence[Message], last_ids: Sequence[int], tools: Sequence[ToolSchema]
    ) -> Rendered:
        """Glue that closes the policy's turn (whose sampled ids are `last_ids`), the `new` messages, and what
        precedes the next turn. `history` is everything before `new`, the policy's turn last."""
        ...

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """What the sampled ids of one turn mean. Never raises on what a policy wrote."""
        ...

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """The ids a policy would sample to say this assistant message, stop id included (for SFT and scripts)."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text for people; control ids are shown by name."""
        ...


# --- engines ----------------------------------------------------------------------------------------


@runtime_checkable
class HiddenMeasure(Protocol):
    """What may be asked of `Engine.forward` besides the measures that it knows by name: anything that hidden states
    tell. It is sent to other processes, so it has to be picklable; see `papers.effective_rank.effective_rank_of` for
    one."""

    @property
    def name(self) -> str:
        """What the answer is called; no other measure's name."""
        ...

    def __call__(self, hidden_PD: torch.Tensor) -> torch.Tensor:
        """[P] from the states [P, D] of those tokens of one row that are measured, in order, each as it is after the
        token was read, in the last layer. Asked without gradient, once a row."""
        ...


class Engine(Protocol):
    """Token in, token out. Six verbs and a version, the same for every backend; `testing.check_engine` checks it."""

    version: int
    """Number of optimiser steps taken."""
    max_length: int
    """Most tokens of one sequence."""
    pad_id: int
    """Fills rows up to the longest; any id of the vocabulary will do."""

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """One completion a request, in order. Depends on each request's ids, sampling and seed alone."""
        ...

    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, torch.Tensor]:
        """Named [B, T] tensors without gradient: logp, entropy, collision (sum of squared probabilities), value, and
        whatever a HiddenMeasure tells under its name; at `batch.mask_BT`, 0 elsewhere. `reference` asks the frozen
        reference model instead. An engine without hidden states raises InputError that names the measure."""
        ...

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """Add the gradient of the loss. May be called several times before `optim_step`."""
        ...

    def optim_step(self, *, learning_rate: float) -> dict[str, float]:
        """Clip, step, zero the gradient, raise the version; metrics such as grad_norm."""
        ...

    def save(self, folder: Path) -> None:
        """Everything stateful: weights, optimiser, version."""
        ...

    def load(self, folder: Path) -> None:
        """Take back what `save` wrote; raises CheckpointError."""
        ...


@runtime_checkable
class Restarts(Protocol):
    """What an engine offers besides for runs of several stages: to begin anew, with its weights or with others."""

    def restart(self) -> None:
        """Forget the optimiser's state; the reference model, where there is one, becomes the policy as it is now."""
        ...

    def start_digest(self) -> str:
        """Equal for engines whose policies are equal and train alike, with or without a critic and a reference."""
        ...

    def load_weights(self, folder: Path) -> None:
        """Take the policy's weights and the version from what any engine of the same model `save`d, and restart."""
        ...


class KeptEngine(Engine, Protocol):
    """An engine that is kept like any other part: a second one of a run, beside the policy's."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@runtime_checkable
class Copyable(Protocol):
    """What an engine offers besides for parts that begin as a copy of the policy."""

    def twin(self, *, reference: bool = False, critic: bool = False, clip_norm: float = 1.0) -> KeptEngine:
        """A new engine whose policy begins as this one's is now; they share nothing that either could change. A critic
        begins anew."""
        ...


@runtime_checkable
class Measures(Protocol):
    """An engine that can be asked about ids while attempts are played: what a `Measure` needs."""

    def measure(self, requests: Sequence[Measure]) -> list[dict[str, list[float]]]:
        """One answer a request, in order. Raises InputError for one that cannot be measured."""
        ...


class AuxPolicy(NamedTuple):
    """Another engine that environments and rollouts may ask, and how it is spoken to. It does not learn by that."""

    engine: Engine
    format: ChatFormat
    sampling: Sampling


# --- rollouts --------------------------------------------------------------------------------------------------

RolloutPlan = Generator["Sample | Measure | Act | Work | Spawn", "Any", list[Trajectory]]
"""A rollout strategy at work: yields requests, receives a Completion for a Sample, named numbers for a Measure, an
EnvReply for an Act, what was returned for Work and for each plan of a Spawn, and returns its trajectories. It does no
I/O itself; `Stopped` may be raised at any yield."""


Rollout = Callable[[Attempt], RolloutPlan]


# --- rewards, credit, selection, loss --------------------------------------------------------------------------

Reward = Callable[[Group], Scores]
Credit = Callable[[Group, Scores], Advantages]
Shaper = Callable[[Group, Advantages], Advantages]
Selector = Callable[[Sequence[Rated]], Sequence[Rated]]
Check = Callable[[Trajectory, Sequence[Criterion]], "np.ndarray"]
"""[C, N] bool: whether each criterion is met after turn n, by rule or by a judge."""
Shape = Callable[[Sequence[Rated]], Sequence[Rated]]
"""Whitens or reweights the advantages of what was selected; it keeps every group and every choice of what trains."""
Loss = Callable[[PolicyOut, Batch], LossOut]


# --- stages, pairs, learners -------------------------------------------------------------------------------------


class StageContext(NamedTuple):
    """Where a stage of a run works: the roles it may use, its own seed and folder (None keeps nothing), and whether it
    goes on with what is there."""

    engine: Engine
    format: ChatFormat
    env: EnvFactory
    tasks: Curriculum
    rollout: Rollout
    reward: Reward
    sampling: Sampling
    seed: int = 0
    out: Path | None = None
    resume: bool = False
    progress: bool = True


Source = Callable[[StageContext], list[Rated]]
"""Groups to learn from: played now, recorded, scripted or joined."""
Pairs = Callable[[Sequence[Rated]], list[Pair]]
Stage = Callable[[StageContext], list[dict[str, float]]]
"""A part of a run; returns the metrics of each of its steps."""


@runtime_checkable
class Learner(Protocol):
    """What learns beside the policy, such as a judge: called once a step with all rated groups, in order of launch."""

    def learn(self, groups: Sequence[Rated], *, step: int) -> Mapping[str, float]:
        """Learn from them; metrics."""
        ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@runtime_checkable
class FromPolicy(Protocol):
    """A learner that begins as a copy of the policy. `train` calls `begin` before anything else, also on resume, where
    `load_state_dict` comes after it."""

    def begin(self, engine: Engine) -> None:
        """Take what it needs of the policy as it is now; the second call and later ones do nothing."""
        ...
