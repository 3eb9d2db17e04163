"""Requests and replies between rollouts, engines and environments, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from handaxe.core.images import Image
from handaxe.core.records import (
    Ending,
    Finish,
    Message,
    ParsedTurn,
    Sampling,
    Task,
    ToolReply,
    ToolSchema,
    Trajectory,
)
from handaxe.core.usage import Usage

if TYPE_CHECKING:
    from handaxe.core.protocols import ChatFormat, Env, RolloutPlan

__all__ = [
    "Act",
    "Attempt",
    "AuxChat",
    "AuxRequest",
    "Completion",
    "EnvReply",
    "Interject",
    "Measure",
    "Partial",
    "Rendered",
    "Sample",
    "Spawn",
    "Splice",
    "Stopped",
    "Work",
]


class AuxRequest(NamedTuple):
    """Environment's request to an auxiliary policy, such as a simulated user.

    by        name of the auxiliary policy
    messages  conversation from its side: its own messages have the role assistant
    tools     tools that it may call
    """

    by: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()


class EnvReply(NamedTuple):
    """Environment's reply to one turn.

    messages     messages for the policy, tool results included
    replies      tool results as records
    done         the rollout is over
    ending       None with `done` True means completed
    facts        JSON state after the turn, recorded with the turn and never read by the policy
    aux_request  request to an auxiliary policy, whose reply comes to `OnAuxReply.on_aux_reply`
    """

    messages: tuple[Message, ...] = ()
    replies: tuple[ToolReply, ...] = ()
    done: bool = False
    ending: Ending | None = None
    facts: Mapping[str, Any] = {}
    aux_request: AuxRequest | None = None


class Rendered(NamedTuple):
    """Ids to append, and the Author of each. `fresh` True: the template rewrote history, and the ids are a whole new
    sequence."""

    ids: list[int]
    authors: list[int]
    fresh: bool = False


class Splice(NamedTuple):
    """Mark of a turn that replaces turns taken back.

    own    number of its first tokens that the policy drew in this place; all later tokens are FORCED
    usage  resources of the turns that it replaces
    """

    own: int
    usage: Usage = Usage()


class Completion(NamedTuple):
    """Sampled tokens of one request; arrays of length n >= 1. `version` [n] are the weights of each token. `splice` is
    set if a strategy put the turn together from other turns, or a replay repeats such a turn. `top` holds the most
    likely (id, log-prob) before each token after the request's prefix, for `Sample.top`; () if none were requested."""

    ids: list[int]
    logp: list[float]
    behaviour_logp: list[float]
    version: list[int]
    finish: Finish
    seconds: float = 0.0
    cost: float = 0.0
    splice: Splice | None = None
    top: Sequence[Sequence[tuple[int, float]]] = ()


class Partial(NamedTuple):
    """First part of a turn whose sampling was interrupted: parallel lists of length n >= 0, as in Completion."""

    ids: list[int]
    logp: list[float]
    behaviour_logp: list[float]
    version: list[int]


class Sample(NamedTuple):
    """Rollout's request to continue ids. `stop` and `header` ids end the turn; `turn` counts from 0.

    prefix  tokens of this turn from before an interruption. The engine continues after `ids` + `prefix.ids`, and its
            completion holds the whole turn. `max_tokens` and draws count from the turn's first token: token n takes the
            n-th uniform number of `seed`
    by      name of the engine; "" is the policy
    images  images of the image tokens among `ids`, and possibly others; their order means nothing
    top     alternatives to report with each token, at the request's temperature (1 for greedy sampling); they change no
            token. Engines other than `LocalEngine` may report none
    """

    ids: Sequence[int]
    sampling: Sampling
    seed: int
    stop: frozenset[int]
    header: frozenset[int] = frozenset()
    turn: int = 0
    prefix: Partial | None = None
    by: str = ""
    images: tuple[Image, ...] = ()
    top: int = 0


class Measure(NamedTuple):
    """Rollout's request to measure given ids under the current weights, without sampling.

    The answer has for each of `names` a list of floats, one per token of ids[start:], start >= 1: "logp" of the token
    under softmax(logits / temperature); "entropy" in nats and "collision" (sum of squared probabilities) of the
    distribution before the token. `reference` measures the frozen reference model. `images` as in Sample.
    """

    ids: Sequence[int]
    start: int
    names: tuple[str, ...] = ("logp",)
    temperature: float = 1.0
    reference: bool = False
    images: tuple[Image, ...] = ()

    @property
    def key(self) -> str:
        """Digest of the request, 16 hexadecimal digits: `Play.measure` stores the answer under it."""
        said = f"{list(map(int, self.ids))} {self.start} {self.names} {self.temperature!r} {self.reference}"
        return sha256(said.encode()).hexdigest()[:16]


class Act(NamedTuple):
    """Rollout's request to pass a turn of engine `by` to the environment; "" is the policy."""

    env: Env
    turn: ParsedTurn
    seed: int
    by: str = ""


class Work(NamedTuple):
    """Rollout's request for work that may block, such as making, forking or closing an environment.

    The answer is the return value of `call()`; an exception of the call is raised in the plan, at the yield.

    opens  factory of the environment that the call opens; the plan closes it before it ends. The plan waits while the
           factory's limit on open environments (`core.protocols.Bounded`) is reached
    back   the call restores an environment to before turns that are taken back next
    """

    call: Callable[[], Any]
    opens: Callable[[Task], Env] | None = None
    back: bool = False


class Spawn(NamedTuple):
    """Rollout's request to play plans concurrently, as parts of this rollout.

    Samples of the plans count as the rollout's. `ids` names each plan, unique in the rollout. The answer is the list of
    return values in the order of `plans`, once all have returned. A plan may spawn in turn; an exception of a plan ends
    the run, as for any plan. When the rollout is stopped, `Stopped` is raised in the spawned plans, and after their
    return in the plan that spawned them. Closing a driver closes all.
    """

    plans: tuple[RolloutPlan, ...]
    ids: tuple[str, ...]


class Stopped(Exception):
    """Raised in a plan, at the yield, when its rollout is no longer needed.

    `partial` holds the tokens so far for a plan that waits for a Sample, `spawned` the return values of plans for one
    that waits for a Spawn. The plan returns its trajectories, ended as truncated for "stopped". It may yield Work to
    clean up, and nothing else.
    """

    def __init__(self, partial: Partial | None = None, spawned: Sequence[list[Trajectory]] = ()):
        super().__init__("the rollout is no longer needed")
        self.partial, self.spawned = partial, spawned


class AuxChat(NamedTuple):
    """Chat format, sampling and context of an auxiliary policy. `context` bounds a conversation, in tokens."""

    format: ChatFormat
    sampling: Sampling
    context: int


Interject = Callable[[Any, Sequence[Message]], Generator[Any, Any, "tuple[Message, ...] | Ending"]]
"""(play, conversation so far) -> generator of requests, which returns named user messages for the play's next turn, or
the ending of the rollout."""


@dataclass(frozen=True)
class Attempt:
    """Input of a rollout strategy for one sample of one task.

    context        maximum tokens of a sequence
    step           training step, 0 in an evaluation
    sibling        index among the `siblings` rollouts that were launched for the group, from 0
    by             name of the engine that plays; "" is the policy
    aux_policies   auxiliary policies, by name
    interject      called before every turn that can begin, for messages of a strategy around any other one, such as
                   `rollouts.advised`; None for no messages
    """

    task: Task
    env: Callable[[Task], Env]
    format: ChatFormat
    sampling: Sampling
    id: str
    sample: int
    seed: int
    context: int
    step: int = 0
    sibling: int = 0
    siblings: int = 1
    by: str = ""
    aux_policies: Mapping[str, AuxChat] = field(default_factory=dict)
    interject: Interject | None = None
