"""What rollouts, engines and environments hand to each other: requests and their answers, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from handaxe.core.records import (
    Ending,
    Finish,
    Message,
    ParsedTurn,
    Sampling,
    Spent,
    Task,
    ToolReply,
    ToolSchema,
    Trajectory,
)

if TYPE_CHECKING:
    from handaxe.core.protocols import ChatFormat, Env, RolloutPlan

__all__ = [
    "Act",
    "Asked",
    "Attempt",
    "AuxVoice",
    "Completion",
    "EnvReply",
    "Measure",
    "Partial",
    "Put",
    "Rendered",
    "Sample",
    "Spawn",
    "Stopped",
    "Work",
]


class Asked(NamedTuple):
    """What an environment asks of another engine, such as a simulated user: what it is called, the conversation as that
    one sees it (its own words as the assistant's), and the tools that it may call."""

    by: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()


class EnvReply(NamedTuple):
    """What an environment says to one turn: messages for the policy, the tool replies among them, and whether it
    is over. `ending` None with `done` True means completed. `facts` (JSON) describe the state that the turn left; they
    are kept with the turn and never read by the policy. `asks`: somebody else is asked first, and what that one says
    comes to the environment's `heard` (see slots.Hears), which replies in turn."""

    messages: tuple[Message, ...] = ()
    replies: tuple[ToolReply, ...] = ()
    done: bool = False
    ending: Ending | None = None
    facts: Mapping[str, Any] = {}
    asks: Asked | None = None


class Rendered(NamedTuple):
    """Ids to append and the Author of each. `fresh` True: the template rewrote history, these ids are a whole new
    sequence and not a continuation."""

    ids: list[int]
    authors: list[int]
    fresh: bool = False


class Put(NamedTuple):
    """That a turn stands in the place of turns that were taken back: how many of its first tokens the policy drew in
    this very place, and what those turns used up. Its other tokens are FORCED."""

    own: int
    spent: Spent = Spent()


class Completion(NamedTuple):
    """What an engine sampled for one request; arrays of length n >= 1. `version` [n]: weights per token. `put` is for
    what was drawn elsewhere, by a strategy (`Play.put`), or by the record of one that is played again."""

    ids: list[int]
    logp: list[float]
    behaviour_logp: list[float]
    version: list[int]
    finish: Finish
    seconds: float = 0.0
    cost: float = 0.0
    put: Put | None = None


class Partial(NamedTuple):
    """The first part of a turn whose sampling was interrupted; parallel lists of length n >= 0, as in Completion."""

    ids: list[int]
    logp: list[float]
    behaviour_logp: list[float]
    version: list[int]


class Sample(NamedTuple):
    """A rollout's request: continue these ids. `stop` and `header` ids end the turn; `turn` counts from 0.

    `begun`: what was sampled of this turn before an interruption. The engine goes on after `ids` + `begun.ids`, its
    completion holds all of the turn, and `max_tokens` and the draws (token n takes the n-th uniform number of `seed`)
    count from the turn's first token.

    `by`: the name of the engine that is asked; "" is the policy.
    """

    ids: Sequence[int]
    sampling: Sampling
    seed: int
    stop: frozenset[int]
    header: frozenset[int] = frozenset()
    turn: int = 0
    begun: Partial | None = None
    by: str = ""


class Measure(NamedTuple):
    """A rollout's request: what the model says of ids that are there, under the weights of now, without a draw.

    The answer has a list of floats for each of `names`, one for each of ids[start:], whose first token has at least one
    before it (start >= 1): "logp" of the token under softmax(logits / temperature), "entropy" in nats and "collision"
    (sum of squared probabilities) of the distribution before it. `reference` asks the frozen reference model.
    """

    ids: Sequence[int]
    start: int
    names: tuple[str, ...] = ("logp",)
    temperature: float = 1.0
    reference: bool = False

    @property
    def key(self) -> str:
        """Equal for requests that ask the same, 16 hexadecimal digits: under it `Play.measure` keeps the answer."""
        said = f"{list(map(int, self.ids))} {self.start} {self.names} {self.temperature!r} {self.reference}"
        return sha256(said.encode()).hexdigest()[:16]


class Act(NamedTuple):
    """A rollout's request: let the environment answer this turn, which the engine `by` said; "" is the policy."""

    env: Env
    turn: ParsedTurn
    seed: int
    by: str = ""


class Work(NamedTuple):
    """A rollout's request: do something that may block, such as making, forking or closing an environment. The answer
    is what `call()` returned; what it raised is raised in the plan, at the yield.

    `opens` is the factory whose environment the call opens, which the plan closes before it is over. Where it says how
    many may be open at a time (`slots.Bounded`), the plan waits until there is room. `back`: the call puts an
    environment back to before turns that are taken back next.
    """

    call: Callable[[], Any]
    opens: Callable[[Task], Env] | None = None
    back: bool = False


class Spawn(NamedTuple):
    """A rollout's request: play these plans at the same time, as parts of this attempt: what they sample counts as the
    attempt's. `ids` names each, unlike any other in the attempt.

    The answer is a list of what each plan returned, in the order of `plans`, once all of them have. A plan may spawn in
    turn. What a plan raises ends the run, as for any plan. When the attempt is no longer wanted, `Stopped` is raised in
    the spawned plans, and when these have returned, in the one that spawned them. A driver that is closed closes all.
    """

    plans: tuple[RolloutPlan, ...]
    ids: tuple[str, ...]


class Stopped(Exception):
    """Raised in a plan, at the yield, when its attempt is no longer wanted. A plan that waits for a Sample finds in
    `partial` what was sampled of the turn, one that waits for a Spawn in `spawned` what its plans returned. It returns
    what it has, ended as truncated for "stopped"; it may yield Work to clean up, nothing else."""

    def __init__(self, partial: Partial | None = None, spawned: Sequence[list[Trajectory]] = ()):
        super().__init__("the attempt is no longer wanted")
        self.partial, self.spawned = partial, spawned


class AuxVoice(NamedTuple):
    """How another engine is spoken to: its chat format, how it is sampled, and the most tokens of a conversation."""

    format: ChatFormat
    sampling: Sampling
    context: int


@dataclass(frozen=True)
class Attempt:
    """What a rollout strategy is given for one sample of one task. `context` bounds a sequence, in tokens. `step` is
    the training step it is made for, 0 in an evaluation; it is number `sibling`, from 0, of the `siblings` attempts
    that were launched for its group. `others` may be asked besides the policy, by name; `by` names the engine that
    plays this attempt, "" for the policy."""

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
    others: Mapping[str, AuxVoice] = field(default_factory=dict)
