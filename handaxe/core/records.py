"""The nouns of handaxe: plain data, no behaviour beyond views of itself.

Legend of shape suffixes, used everywhere: B batch rows (one row is one token sequence), G siblings of a group, N turns,
S sequences of a trajectory, T tokens, V vocabulary, D hidden width.

A two-turn trajectory as its one sequence stores it (P prompt, A sampled, E tool reply, lower case = the format's glue):

    ids       P0 P1 g0 | A0 A1 | g1 E0 g2 | A2
    author    U  U  t  | p  p  | t  T  t  | p       user, template, policy, tool
    turn      -1 -1 -1 | 0  0  | 0  0  0  | 1       -1 before the first turn; a reply belongs to the turn it answers
    mask      0  0  0  | 1  1  | 0  0  0  | 1       author is POLICY (or FORCED)
    logp      0  0  0  | x  x  | 0  0  0  | x       log-prob of the token under the policy that sampled it
    version   -1 -1 -1 | 7  7  | -1 -1 -1 | 7       which weights wrote it
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, NamedTuple

import numpy as np

from handaxe.core.validation import check

__all__ = [
    "Advantages",
    "Author",
    "Branch",
    "Criterion",
    "Ending",
    "Group",
    "Message",
    "Pair",
    "ParsedTurn",
    "Rated",
    "STOPPED",
    "Sampling",
    "Scores",
    "Spent",
    "Task",
    "TokenSequence",
    "ToolCall",
    "ToolReply",
    "ToolSchema",
    "Trajectory",
    "Turn",
    "check",
]

Role = Literal["system", "user", "assistant", "tool"]
Status = Literal["ok", "retry", "failed", "invalid", "timeout", "infra_error"]
Finish = Literal["stop", "length", "header"]
EndingKind = Literal["completed", "truncated", "policy_error", "infra_error", "verifier_error"]


class Author(IntEnum):
    """Who wrote a token. POLICY tokens train, and FORCED ones: part of the policy's turn, but drawn by something else,
    such as a search. EXPERT tokens stand where the policy would have spoken and never train."""

    TEMPLATE = 0
    USER = 1
    TOOL = 2
    POLICY = 3
    FORCED = 4
    EXPERT = 5


@dataclass(frozen=True)
class ToolCall:
    """One call that the policy made. `id` is unique within the trajectory; `tools.definition.ToolContext.key` among all."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""


@dataclass(frozen=True)
class ToolReply:
    """What came back from one call. `status` says whose doing it was; `content` is what the policy reads."""

    call_id: str
    name: str
    content: str
    status: Status = "ok"
    seconds: float = 0.0
    cost: float = 0.0


@dataclass(frozen=True)
class ToolSchema:
    """What a policy is told about a tool. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """One chat message. `calls` only from assistants, `call_id` only from tools; other names mark a rollout's words."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""


@dataclass(frozen=True)
class Task:
    """One thing to try. `tools` names the tools offered: () none, None all that the environment has. `answer` is what a
    reward compares with (None: no reference answer). `metadata` is JSON."""

    id: str
    messages: tuple[Message, ...]
    answer: Any = None
    tools: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Criterion:
    """One thing that can be checked of an attempt. `text` says it in words, for a judge or as a hint. `points` may be
    negative. `after` names those that must be met before it counts; where a `strict` one fails, what follows is in
    vain. `kind` is what it belongs to, such as a skill, and `part` which of the user's turns it is about, from 0."""

    name: str
    text: str
    points: float = 1.0
    after: tuple[str, ...] = ()
    strict: bool = False
    kind: str = ""
    part: int = 0


@dataclass(frozen=True)
class Sampling:
    """The exact distribution tokens are drawn from: softmax(logits / temperature), cut to top_k and top_p.
    `temperature` 0 is greedy. `top_k` 0 and `top_p` 1.0 cut nothing. `max_tokens` bounds one turn."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = 64


@dataclass(frozen=True)
class ParsedTurn:
    """What a turn's sampled ids mean. `raw` is all of it decoded; `text` the part outside calls; `errors` one message
    for each malformed call. `spans`: where each of `calls` stands among the turn's ids, [start, stop) of every id that
    holds a character of it, its marks included; () where the format cannot tell. Two readings are the same that differ
    in nothing else."""

    text: str
    calls: tuple[ToolCall, ...] = ()
    errors: tuple[str, ...] = ()
    raw: str = ""
    spans: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Turn:
    """One act of the policy: ids [start, stop) of sequence `sequence`, and what came of it.

    `finish`: stop (the policy ended its turn), length (cut; calls in it are not executed) or header (it began
    to write another speaker's turn). `seconds` and `cost` are of sampling; those of tools stand in `replies`. `facts`
    is what the environment said of its state after this turn (JSON); the policy never reads it.
    """

    sequence: int
    start: int
    stop: int
    parsed: ParsedTurn
    finish: Finish
    sampling: Sampling
    seed: int
    replies: tuple[ToolReply, ...] = ()
    seconds: float = 0.0
    cost: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)


class Spent(NamedTuple):
    """What an attempt has used up: tokens that the policy sampled, calls, seconds and cost of sampling and tools."""

    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0
    cost: float = 0.0

    @classmethod
    def of(cls, turns: Iterable[Turn]) -> Spent:
        """By these turns and their replies."""
        spent = cls()
        for turn in turns:
            spent = spent.plus(turn)
        return spent

    def plus(self, turn: Turn) -> Spent:
        """With one more turn and its replies."""
        return Spent(
            self.tokens + turn.stop - turn.start,
            self.calls + len(turn.parsed.calls),
            self.seconds + turn.seconds + sum(reply.seconds for reply in turn.replies),
            self.cost + turn.cost + sum(reply.cost for reply in turn.replies),
        )

    def together(self, other: Spent) -> Spent:
        """With what another one used up."""
        tokens, calls = self.tokens + other.tokens, self.calls + other.calls
        return Spent(tokens, calls, self.seconds + other.seconds, self.cost + other.cost)


@dataclass(frozen=True, eq=False)
class TokenSequence:
    """Parallel arrays over the T tokens of one row; see the module's drawing.

    logp            [T] float32, log softmax(logits / temperature) over the whole vocabulary; 0 off the mask, and at
                    FORCED tokens, which no policy was asked about (version is -1 at both)
    behaviour_logp  [T] float32, the same after top_k and top_p, that is of the distribution drawn from; at FORCED
                    tokens of whatever drew them
    features        further named [T] arrays, such as ref_logp, old_logp, value, entropy, collision
    """

    ids: np.ndarray
    author: np.ndarray
    turn: np.ndarray
    logp: np.ndarray
    behaviour_logp: np.ndarray
    version: np.ndarray
    features: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def mask(self) -> np.ndarray:
        """[T] bool: the tokens that the policy wrote, or that were forced on it in its turn."""
        return (self.author == Author.POLICY) | self.forced

    @property
    def forced(self) -> np.ndarray:
        """[T] bool: the tokens of the mask that no policy drew."""
        return self.author == Author.FORCED


@dataclass(frozen=True)
class Ending:
    """How a trajectory ended. `reason` is length, turns, budget or stopped when truncated, else a sentence or empty."""

    kind: EndingKind
    reason: str = ""


STOPPED = Ending("truncated", "stopped")  # no longer wanted: neither scored nor trained


class Branch(NamedTuple):
    """A fork: the first `token` ids of `sequence` are those of sibling `trajectory`; they train in both, and add up."""

    trajectory: str
    sequence: int
    token: int


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One attempt at a task. `messages` is the whole conversation; `env` is what the environment reports at the
    end (JSON), for rewards on state; `seed` is derived from (run, step, task, sample); `notes` is what the rollout
    strategy says of the attempt (JSON). `asked` is what other engines said in it: they are recorded and counted, never
    scored or trained; `by` names the engine that spoke, "" for the policy. `spent` is all that the attempt used up,
    where that is not what its turns say: turns that were played and taken back are in it. Figures of cost read
    `used`."""

    id: str
    task: Task
    sample: int
    turns: tuple[Turn, ...]
    sequences: tuple[TokenSequence, ...]
    ending: Ending
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    seed: int = 0
    branch_of: Branch | None = None
    env: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""
    asked: tuple[Trajectory, ...] = ()
    spent: Spent | None = None

    @property
    def used(self) -> Spent:
        """All that the attempt used up, what was taken back included."""
        return self.spent or Spent(self.num_tokens, len(self.calls), self.seconds, self.cost)

    @property
    def calls(self) -> list[ToolCall]:
        """Every well-formed call, in order."""
        return [call for turn in self.turns for call in turn.parsed.calls]

    @property
    def replies(self) -> list[ToolReply]:
        """Every reply, in order."""
        return [reply for turn in self.turns for reply in turn.replies]

    @property
    def num_tokens(self) -> int:
        """How many tokens the policy wrote."""
        return sum(int(sequence.mask.sum()) for sequence in self.sequences)

    @property
    def final_text(self) -> str:
        """The text of the last turn, or "" when there is none."""
        return self.turns[-1].parsed.text if self.turns else ""

    @property
    def cost(self) -> float:
        """Cost of sampling and of tools, in the unit the tools declare, that of other engines included."""
        own = sum(turn.cost for turn in self.turns) + sum(reply.cost for reply in self.replies)
        return own + sum(one.cost for one in self.asked)


@dataclass(frozen=True, eq=False)
class Group:
    """The G sibling trajectories of one task: the unit of reward, credit and selection. `step` is the training
    step they were made for."""

    task: Task
    trajectories: tuple[Trajectory, ...]
    step: int = 0

    def __len__(self) -> int:
        return len(self.trajectories)

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self.trajectories)

    def __getitem__(self, index: int) -> Trajectory:
        return self.trajectories[index]


@dataclass(frozen=True, eq=False)
class Scores:
    """What a reward says of a group.

    outcome   [G] float64, one number per trajectory
    turns     per trajectory [N_i] float64, reward attached to each turn, or None
    channels  named [G] arrays that made up the outcome, kept apart
    turn_channels  named per-turn twins
    eligible  [G] bool: which siblings a credit may count in its statistics when told `stats_over="eligible"`
    """

    outcome: np.ndarray
    turns: tuple[np.ndarray, ...] | None = None
    channels: Mapping[str, np.ndarray] = field(default_factory=dict)
    turn_channels: Mapping[str, tuple[np.ndarray, ...]] = field(default_factory=dict)
    eligible: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Advantages:
    """Per trajectory, per sequence one [T] float64 array, zero wherever the policy did not write. `returns`, where a
    critic is trained, has the same raggedness and holds the value targets. `trains` [T] bool: which of the policy's
    tokens enter loss, terms and denominators; None is all of them. `channels`: further advantages by name, for terms of
    the loss; run records do not keep them."""

    tokens: tuple[tuple[np.ndarray, ...], ...]
    returns: tuple[tuple[np.ndarray, ...], ...] | None = None
    trains: tuple[tuple[np.ndarray, ...], ...] | None = None
    channels: Mapping[str, tuple[tuple[np.ndarray, ...], ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Rated:
    """A group on its way to the batch. `trained` [G] bool: whose tokens enter the loss; the others were scored and
    counted in statistics, and are left out of loss and denominators. `part`: groups of a lower part train in an earlier
    optimiser step."""

    group: Group
    scores: Scores
    advantages: Advantages
    trained: np.ndarray
    part: int = 0

    def training_mask(self, index: int) -> tuple[np.ndarray, ...]:
        """Per sequence of a sibling [T] bool: its tokens that enter loss, terms and denominators."""
        chosen, trains = bool(self.trained[index]), self.advantages.trains
        masks = tuple(sequence.mask & chosen for sequence in self.group[index].sequences)
        return masks if trains is None else tuple(a & b for a, b in zip(masks, trains[index], strict=True))


class Pair(NamedTuple):
    """Two attempts at one task, the better first. `strength` >= 0 is how much better; 0 is a tie."""

    chosen: Trajectory
    rejected: Trajectory
    strength: float = 1.0
