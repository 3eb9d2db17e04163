"""Signatures of all roles. A mechanism is any callable or object that fits one of them.

    tasks --Curriculum--> [Task] --Rollout(Engine, Env)--> [Group] --Reward--> Scores
    (Group, Scores) --Credit--> Advantages          [RatedGroup] --Selector, AdvantageTransform--> [RatedGroup]
    [RatedGroup] --batch--> Batch          (PolicyOut, Batch) --Loss--> LossOut --Engine--> new weights

No mechanism is registered or looked up by name: import a function and pass it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from handaxe.core.batch import Batch, LossOut, PolicyOut
from handaxe.core.heads import Head
from handaxe.core.records import (
    Advantages,
    Criterion,
    Group,
    Message,
    Pair,
    ParsedTurn,
    RatedGroup,
    Sampling,
    Scores,
    Task,
    ToolSchema,
    Trajectory,
)
from handaxe.core.requests import (
    Act,
    Attempt,
    AuxChat,
    Completion,
    EnvReply,
    Measure,
    Partial,
    Rendered,
    Sample,
    Spawn,
    Work,
)

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import torch

    from handaxe.core.model_api import ImageProcessor
    from handaxe.tools.deadline import Threads

__all__ = [
    "AdvantageTransform",
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
    "ImageChatFormat",
    "Judge",
    "Labelled",
    "Learner",
    "Loss",
    "Measures",
    "OnAuxReply",
    "OnOpen",
    "PairJudge",
    "Pairs",
    "Restarts",
    "Reward",
    "Rollout",
    "RolloutPlan",
    "Selector",
    "Source",
    "Stage",
    "StageContext",
    "Stateful",
    "StatefulEngine",
    "StepJudge",
    "Stream",
    "Streams",
    "shows_images",
]


@runtime_checkable
class Stateful(Protocol):
    """Part of a run with state, which checkpoints save. Test for it with `isinstance(part, Stateful)`."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state: numbers, strings, lists and dicts."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state that `state_dict` returned."""
        ...


# --- tasks -----------------------------------------------------------------------------------------------------


class Curriculum(Protocol):
    """Sequence of tasks. Seeded: equal (step, count) after equal observations give equal tasks."""

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step. A part of a run that begins at step 0 first asks for 0 tasks of -1."""
        ...

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Learn the results of a step, before selection."""
        ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


# --- environment -----------------------------------------------------------------------------------------------


class Env(Protocol):
    """Environment of one rollout: made for one task, used once, closed. Messages in, reply out.

    An environment never sees tokens or the policy.
    """

    def start(self) -> tuple[tuple[Message, ...], tuple[ToolSchema, ...]]:
        """Return the opening messages and the offered tools."""
        ...

    def step(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Reply to one turn of the policy. May block; raises InfrastructureError if its machinery dies."""
        ...

    def report(self) -> Mapping[str, Any]:
        """Return JSON facts about the final state, for rewards."""
        ...

    def snapshot(self) -> Any:
        """Return an opaque value for `restore`."""
        ...

    def restore(self, state: Any) -> None:
        """Go back to a snapshot of this or another Env of the same task."""
        ...

    def close(self) -> None:
        """Release all resources. Called exactly once in every case."""
        ...


@runtime_checkable
class AsyncEnv(Protocol):
    """Env that waits without a thread: the driver awaits `astep` on its event loop instead of calling `step`."""

    async def astep(self, turn: ParsedTurn, *, seed: int, threads: Threads) -> EnvReply:
        """As `Env.step`, without blocking; blocking work goes to `await threads.run(work)`. May be cancelled."""
        ...


@runtime_checkable
class OnAuxReply(Protocol):
    """Env with requests to auxiliary policies (`EnvReply.aux_request`), such as a simulated user."""

    def on_aux_reply(self, turn: ParsedTurn, *, seed: int) -> EnvReply:
        """Continue after the auxiliary policy's reply to the latest request. The result may hold another request."""
        ...


@runtime_checkable
class OnOpen(Protocol):
    """Env with parts that auxiliary policies may play, such as modules of an agent, or with a reply that depends on the
    turn limit."""

    def on_open(self, *, aux_policies: Mapping[str, AuxChat], max_turns: int) -> None:
        """Receive the auxiliary policies of the rollout by name, and its turn limit. Called once, before `start`."""
        ...


EnvFactory = Callable[[Task], Env]


@runtime_checkable
class Bounded(Protocol):
    """EnvFactory with a limit on open environments. A driver delays further rollouts until one is closed."""

    most: int
    """Environments open at a time in one driver, >= 1."""


# --- chat formats ----------------------------------------------------------------------------------------------


class ChatFormat(Protocol):
    """Renders new messages to ids and parses sampled ids. Text of users and tools never yields a control id."""

    stop_ids: frozenset[int]
    """Ids that end the policy's turn; sampled, stored and trained."""
    header_ids: frozenset[int]
    """Ids that begin another speaker's turn; sampling one ends the turn with finish="header"."""

    def start(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Rendered:
        """Render the opening, up to the policy's first token."""
        ...

    def extend(
        self, history: Sequence[Message], new: Sequence[Message], last_ids: Sequence[int], tools: Sequence[ToolSchema]
    ) -> Rendered:
        """Render the glue that closes the policy's turn (sampled ids `last_ids`), the `new` messages and the header of
        the next turn. `history` holds all messages before `new`; the policy's turn is its last."""
        ...

    def parse(self, ids: Sequence[int], tools: Sequence[ToolSchema]) -> ParsedTurn:
        """Parse the sampled ids of one turn. Never raises, for any sampled ids."""
        ...

    def encode_turn(self, message: Message, tools: Sequence[ToolSchema]) -> list[int]:
        """Encode an assistant message as a policy would sample it, with its stop id (for SFT and scripts)."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids for people; control ids are shown by name, an image as `images.PLACEHOLDER`."""
        ...


@runtime_checkable
class ImageChatFormat(Protocol):
    """Optional for a ChatFormat: shows images, whose token ids come from `image_processor`; None shows none.

    A format without images writes "[image 640x480]" for images of tool results, and raises InputError for those of
    other messages.
    """

    image_processor: ImageProcessor | None


def shows_images(format: ChatFormat) -> bool:
    """True if a chat format shows images."""
    return isinstance(format, ImageChatFormat) and format.image_processor is not None


# --- engines ----------------------------------------------------------------------------------------


@runtime_checkable
class HiddenMeasure(Protocol):
    """Measure of hidden states, for `Engine.forward` beside its named measures. Must be picklable: it is sent to other
    processes. `papers.effective_rank.effective_rank_of` is an example."""

    @property
    def name(self) -> str:
        """Name of the result, different from all other measures."""
        ...

    def __call__(self, hidden_PD: torch.Tensor) -> torch.Tensor:
        """Measure one row: [P] from the last layer's states [P, D] after each measured token, in order. Called without
        gradient, once a row."""
        ...


class Engine(Protocol):
    """Policy behind six methods and a version, token in, token out, equal for every backend.

    `testing.check_engine` checks the contract.
    """

    version: int
    """Number of optimiser steps taken."""
    max_length: int
    """Maximum tokens of one sequence."""
    pad_id: int
    """Padding id of rows; any id of the vocabulary."""

    def sample(self, requests: Sequence[Sample]) -> list[Completion]:
        """Sample one completion per request, in order. Each depends on its request's ids, sampling and seed alone."""
        ...

    def forward(
        self, batch: Batch, *, reference: bool = False, names: Sequence[str | HiddenMeasure] = ("logp",)
    ) -> dict[str, torch.Tensor]:
        """Measure named [B, T] tensors without gradient, at `batch.mask_BT` and 0 elsewhere: logp, entropy, collision
        (sum of squared probabilities), value, and HiddenMeasures by name. `reference` measures the frozen reference
        model. An engine without hidden states raises InputError with the measure's name."""
        ...

    def forward_backward(self, batch: Batch, loss: Loss) -> LossOut:
        """Add the gradient of the loss; returns the loss with `moved_BT` (see `LossOut`). May be called several times
        before `optim_step`."""
        ...

    def optim_step(self, *, learning_rate: float, critic_rate: float | None = None) -> dict[str, float]:
        """Clip the gradient, take a step, zero the gradient, raise the version; returns metrics such as grad_norm.
        `critic_rate` is the learning rate of the critic, if it differs; with a `learning_rate` of 0 only the critic
        steps, and the gradient of the policy is dropped. `train` passes `critic_rate` only if a run sets it."""
        ...

    def save(self, folder: Path) -> None:
        """Save all state: weights, optimiser, version."""
        ...

    def load(self, folder: Path) -> None:
        """Load a saved state; raises CheckpointError."""
        ...


@runtime_checkable
class Restarts(Protocol):
    """Optional methods of an engine for runs of several stages: a fresh optimiser, with the same or other weights."""

    def restart(self) -> None:
        """Reset the optimiser's state. A reference model becomes a copy of the current policy."""
        ...

    def start_digest(self) -> str:
        """Return a digest, equal for engines with equal policies and training, with or without critic and
        reference."""
        ...

    def load_weights(self, folder: Path) -> None:
        """Load policy weights and version that any engine of the same model saved, and restart."""
        ...


class StatefulEngine(Engine, Protocol):
    """Engine with a state_dict: a second engine of a run, saved in checkpoints like any other part."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@runtime_checkable
class Copyable(Protocol):
    """Optional method of an engine for parts that begin as a copy of the policy."""

    def twin(
        self,
        *,
        reference: bool = False,
        critic: bool = False,
        clip_norm: float = 1.0,
        heads: Mapping[str, Head] | None = None,
    ) -> StatefulEngine:
        """Make an independent engine with a copy of the current policy. A critic and heads start from scratch.
        Raises InputError for heads on an engine without them."""
        ...


@runtime_checkable
class Measures(Protocol):
    """Optional method of an engine: measures of given ids during rollouts, for `Measure` requests."""

    def measure(self, requests: Sequence[Measure]) -> list[dict[str, list[float]]]:
        """Return one answer per request, in order. Raises InputError for a request that cannot be measured."""
        ...


class AuxPolicy(NamedTuple):
    """Auxiliary policy for environments and rollouts: an engine with its chat format and sampling. It does not learn
    from their requests."""

    engine: Engine
    format: ChatFormat
    sampling: Sampling


class Stream(Protocol):
    """Continuous batching: requests join and leave between two tokens.

    A completion depends on its request and the weights alone, not on other requests. If the engine's version changed
    since the last `poll`, requests continue under the new weights, and nothing computed under the old ones is reused.
    """

    def submit(self, request: Sample) -> int:
        """Add a request; returns its ticket, counted from 0. Raises InputError if it cannot be sampled."""
        ...

    def poll(self, wait: float = 0.0) -> list[tuple[int, Completion]]:
        """Sample a token or more for every open request; returns the completed ones in order of ticket.

        A stream that samples elsewhere waits up to `wait` seconds. A request that fails there ends as the error.

        Raises:
            SamplingError: a request failed and left the stream; the other requests continue with the next call.
        """
        ...

    def interrupt(self, ticket: int) -> Partial:
        """Remove a request; returns its tokens so far."""
        ...

    def __len__(self) -> int:
        """Number of open requests, waiting ones included."""
        ...

    def close(self) -> None:
        """Drop all requests and release the memory."""
        ...


@runtime_checkable
class Streams(Protocol):
    """Engine with continuous batching. Without it the driver samples a batch at a time."""

    def stream(self) -> Stream:
        """Make a stream. It may cache keys and values of completed requests for later requests with equal prefixes."""
        ...


# --- rollouts --------------------------------------------------------------------------------------------------

RolloutPlan = Generator["Sample | Measure | Act | Work | Spawn", "Any", list[Trajectory]]
"""Running rollout strategy: yields requests and returns trajectories, without I/O of its own.

It receives a Completion for a Sample, named numbers for a Measure, an EnvReply for an Act, the return value of a Work
and of each plan of a Spawn. `Stopped` may be raised at any yield."""


Rollout = Callable[[Attempt], RolloutPlan]


# --- rewards, judges, credit, selection, loss --------------------------------------------------------------------

Reward = Callable[[Group], Scores]
Credit = Callable[[Group, Scores], Advantages]
Selector = Callable[[Sequence[RatedGroup]], Sequence[RatedGroup]]
"""Chooses groups and rollouts to train. Leave a group out, or return it dropped; mask rollouts with `trained` or
`Advantages.trains`. `selection.parts.dispositions` has `drop` and `mask`, which record the decision."""
AdvantageTransform = Callable[[Sequence[RatedGroup]], Sequence[RatedGroup]]
"""Whitens, weights or clips advantages of the selected groups. It returns every group in order and changes `advantages`
alone; `Advantages.trains` may only become narrower."""
Check = Callable[[Trajectory, Sequence[Criterion]], "np.ndarray"]
"""[C, N] bool: whether each criterion is met after turn n, by rule or by a judge."""
Loss = Callable[[PolicyOut, Batch], LossOut]
Labelled = tuple[Group, Scores]
"""Trajectories of one task with labels in the form of a reward's scores; NaN is no label. A preference is a group of
two with outcomes (strength, 0), a tie has equal outcomes. Labels of steps stand in `turns`."""


class Judge(Protocol):
    """Scorer with trainable parameters. Equal trajectories get equal scores until it learns."""

    def score(self, group: Group) -> np.ndarray:
        """Return [G] scores, independent of order and presence of siblings up to rounding."""
        ...


@runtime_checkable
class StepJudge(Protocol):
    """Judge of single turns."""

    def score_steps(self, group: Group) -> tuple[np.ndarray, ...]:
        """Return per sibling [N_i] scores, one a turn."""
        ...


@runtime_checkable
class PairJudge(Protocol):
    """Judge of pairs of trajectories of one task."""

    def compare(self, pairs: Sequence[tuple[Trajectory, Trajectory]]) -> np.ndarray:
        """Return [P] probabilities that the first is better."""
        ...


@runtime_checkable
class Fittable(Protocol):
    """Judge with a training method."""

    def fit(self, labelled: Sequence[Labelled]) -> dict[str, float]:
        """Train on labels; returns metrics."""
        ...


# --- stages, pairs, learners -------------------------------------------------------------------------------------


class StageContext(NamedTuple):
    """Roles, seed and folder of a stage. `out` None stores nothing; `resume` continues from the folder."""

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


Source = Callable[[StageContext], list[RatedGroup]]
"""Training data of a stage: played, recorded, scripted or joined groups."""
Pairs = Callable[[Sequence[RatedGroup]], list[Pair]]
Stage = Callable[[StageContext], list[dict[str, float]]]
"""Part of a run; returns the metrics of each of its steps."""


@runtime_checkable
class Learner(Protocol):
    """Part that learns beside the policy, such as a judge. Called once a step with all rated groups in launch order."""

    def learn(self, groups: Sequence[RatedGroup], *, step: int) -> Mapping[str, float]:
        """Learn from the groups; returns metrics."""
        ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@runtime_checkable
class FromPolicy(Protocol):
    """Learner that begins as a copy of the policy. `train` calls `begin` before all else; on resume `load_state_dict`
    follows."""

    def begin(self, engine: Engine) -> None:
        """Copy from the current policy. Further calls do nothing."""
        ...
