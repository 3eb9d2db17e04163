"""Records of handaxe: plain frozen data, with properties that derive from it.

Shape suffixes: B batch rows (one token sequence each), P rollouts of a played group, G siblings of a scored group,
N turns, S sequences of a trajectory, T tokens, V vocabulary, D hidden width.

A trajectory of two turns, stored as one sequence (P prompt, A sampled, E tool reply, lower case: glue of the format):

    ids       P0 P1 g0 | A0 A1 | g1 E0 g2 | A2
    author    U  U  t  | p  p  | t  T  t  | p       user, template, policy, tool
    turn      -1 -1 -1 | 0  0  | 0  0  0  | 1       -1 before the first turn; a reply belongs to the turn it answers
    mask      0  0  0  | 1  1  | 0  0  0  | 1       author is POLICY or FORCED
    logp      0  0  0  | x  x  | 0  0  0  | x       log-prob of the token under the sampling policy
    version   -1 -1 -1 | 7  7  | -1 -1 -1 | 7       weights that sampled the token

A group passes through a step as PlayedGroup -> ScoredGroup -> RatedGroup. Each holds the one before, and the played
group holds the history of decisions (`Disposition`) on every rollout.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from handaxe.core.images import Image, is_image_id, join_images, message_images
from handaxe.core.usage import Usage
from handaxe.core.validation import check

__all__ = [
    "Advantages",
    "Author",
    "Branch",
    "Criterion",
    "Disposition",
    "DispositionKind",
    "Dispositions",
    "Ending",
    "Group",
    "Message",
    "Pair",
    "ParsedTurn",
    "PlayedGroup",
    "RatedGroup",
    "STOPPED",
    "Sampling",
    "ScoredGroup",
    "Scores",
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
DispositionKind = Literal["trained", "masked", "dropped", "unscored", "surplus"]
Ragged = tuple[tuple[np.ndarray, ...], ...]
"""Per trajectory, per sequence one [T] array."""


class Author(IntEnum):
    """Author of a token.

    POLICY tokens train. FORCED tokens train, too: they stand in a turn of the policy, but another process drew them,
    such as a search. EXPERT tokens replace a turn of the policy and never train.
    """

    TEMPLATE = 0
    USER = 1
    TOOL = 2
    POLICY = 3
    FORCED = 4
    EXPERT = 5


@dataclass(frozen=True)
class ToolCall:
    """Tool call of the policy. `id` is unique in a trajectory, `tools.definition.ToolContext.key` in all runs."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""


@dataclass(frozen=True)
class ToolReply:
    """Result of one tool call. The policy reads `content` and sees `images`, one for each `images.PLACEHOLDER` of the
    content, in order; `status` names the cause of a failure.
    """

    call_id: str
    name: str
    content: str
    status: Status = "ok"
    seconds: float = 0.0
    cost: float = 0.0
    images: tuple[Image, ...] = ()


@dataclass(frozen=True)
class ToolSchema:
    """Tool description in the policy's prompt. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Message:
    """Chat message.

    Only assistants have `calls`, only tools a `call_id`. A `name` on another role marks a message of the rollout
    strategy. `images` holds one image for each `images.PLACEHOLDER` of the content, in order; without images the
    character means nothing.
    """

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    images: tuple[Image, ...] = ()

    @classmethod
    def of(
        cls, role: Role, *parts: str | Image, calls: tuple[ToolCall, ...] = (), call_id: str = "", name: str = ""
    ) -> Message:
        """Make a message of texts and images, in order.

        Example:
            Message.of("user", "Which number is on the red plate? ", image)
        """
        content, images = join_images(*parts)
        return cls(role, content, calls, call_id, name, images)

    def __repr__(self) -> str:
        """Without images as before images existed: names of caches are digests of it."""
        shown = [one.name for one in fields(self) if one.name != "images" or self.images]
        return f"Message({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


@dataclass(frozen=True)
class Task:
    """Task for a rollout.

    `tools` names the offered tools: () offers none, None all tools of the environment. `answer` is the reference answer
    for rewards; None: there is no reference. `metadata` is JSON.
    """

    id: str
    messages: tuple[Message, ...]
    answer: Any = None
    tools: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Criterion:
    """Criterion of a rubric, checked on a trajectory.

    text    wording for a judge or a hint
    points  may be negative
    after   names of criteria that must be met before this one counts
    strict  a failure voids everything that follows
    kind    category, such as a skill
    part    index of the user turn that the criterion concerns, from 0
    """

    name: str
    text: str
    points: float = 1.0
    after: tuple[str, ...] = ()
    strict: bool = False
    kind: str = ""
    part: int = 0


@dataclass(frozen=True)
class Sampling:
    """Sampling distribution of tokens: softmax(logits / temperature), cut to top_k and top_p.

    `temperature` 0 is greedy. `top_k` 0 and `top_p` 1.0 cut nothing. `max_tokens` bounds one turn.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = 64


@dataclass(frozen=True)
class ParsedTurn:
    """Parse result of a turn's sampled ids.

    `raw` is the decoded turn, `text` the part outside calls, `errors` holds one message per malformed call. `spans`
    locates each of `calls` in the turn's ids, [start, stop) over every id with a character of the call, marks included;
    () where the format cannot locate calls. Equality ignores `spans`.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    errors: tuple[str, ...] = ()
    raw: str = ""
    spans: tuple[tuple[int, int], ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Turn:
    """Turn of the policy: ids [start, stop) of sequence `sequence`, and the environment's reply.

    `finish` is stop (the policy ended its turn), length (cut; calls of the turn are not executed) or header (the policy
    began another speaker's turn). `seconds` and `cost` are of sampling; `replies` hold those of tools. `facts` (JSON)
    is the environment's state after the turn; the policy never reads it.
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


@dataclass(frozen=True, eq=False)
class TokenSequence:
    """Parallel arrays over the T tokens of one row; the module's drawing shows one.

    ids             [T] int32, or int64 where some are image tokens (`handaxe.core.images`)
    logp            [T] float32, log softmax(logits / temperature) over the whole vocabulary; 0 off the mask and at
                    FORCED tokens, whose version is -1
    behaviour_logp  [T] float32, log-prob under the sampling distribution after top_k and top_p; at FORCED tokens under
                    the distribution that drew them
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
        """[T] bool: POLICY and FORCED tokens."""
        policy: np.ndarray = (self.author == Author.POLICY) | (self.author == Author.FORCED)
        return policy

    @property
    def forced(self) -> np.ndarray:
        """[T] bool: FORCED tokens."""
        forced: np.ndarray = self.author == Author.FORCED
        return forced


@dataclass(frozen=True)
class Ending:
    """End of a trajectory. `reason` is length, turns, budget or stopped when truncated, else a sentence or empty."""

    kind: EndingKind
    reason: str = ""


STOPPED = Ending("truncated", "stopped")
"""Ending of a rollout that its group no longer needs: neither scored nor trained."""


class Branch(NamedTuple):
    """Fork point: the first `token` ids of `sequence` are shared with sibling `trajectory`.

    Shared tokens train in both trajectories; their gradients add up.
    """

    trajectory: str
    sequence: int
    token: int


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Record of one rollout.

    messages     the whole conversation
    seed         derived from (run, step, task, sample)
    env          JSON report of the environment at the end, for rewards on state
    notes        JSON of the rollout strategy
    by           name of the sampling engine; "" is the policy
    aux_turns    trajectories of auxiliary policies in this rollout: recorded and counted, never scored or trained
    total_usage  usage with turns that were taken back; None where the turns tell all of it. Cost metrics read `usage`
    """

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
    aux_turns: tuple[Trajectory, ...] = ()
    total_usage: Usage | None = None

    @property
    def usage(self) -> Usage:
        """All resources of the rollout, with turns that were taken back."""
        images = sum([len(reply.images) for reply in self.replies])
        read = self._reply_image_tokens() if images else 0
        return self.total_usage or Usage(self.num_tokens, len(self.calls), self.seconds, self.cost, images, read)

    @property
    def calls(self) -> list[ToolCall]:
        """Well-formed calls, in order."""
        return [call for turn in self.turns for call in turn.parsed.calls]

    @property
    def replies(self) -> list[ToolReply]:
        """Tool replies, in order."""
        return [reply for turn in self.turns for reply in turn.replies]

    @property
    def images(self) -> tuple[Image, ...]:
        """Every distinct image of the conversation, in order; those of auxiliary policies apart."""
        return message_images(self.messages)

    @property
    def num_image_tokens(self) -> int:
        """Number of ids that are image tokens."""
        return sum(int(is_image_id(sequence.ids).sum()) for sequence in self.sequences)

    def _reply_image_tokens(self) -> int:
        """Number of image tokens of tool results."""
        return sum(int(is_image_id(one.ids[one.author == Author.TOOL]).sum()) for one in self.sequences)

    @property
    def num_tokens(self) -> int:
        """Number of tokens of the mask."""
        return sum(int(sequence.mask.sum()) for sequence in self.sequences)

    @property
    def final_text(self) -> str:
        """Text of the last turn; "" without turns."""
        return self.turns[-1].parsed.text if self.turns else ""

    @property
    def cost(self) -> float:
        """Cost of sampling, tools and auxiliary policies, in the unit of the tools."""
        own = sum(turn.cost for turn in self.turns) + sum(reply.cost for reply in self.replies)
        return own + sum(one.cost for one in self.aux_turns)


@dataclass(frozen=True, eq=False)
class Group:
    """Sibling trajectories of one task: the unit of reward, credit and selection. `step` is their training step."""

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
    """Output of a reward on a group.

    outcome        [G] float64, one number per trajectory
    turns          per trajectory [N_i] float64, reward of each turn, or None
    channels       named [G] components of the outcome
    turn_channels  named per-turn components
    eligible       [G] bool: siblings in the statistics of a credit with `stats_over="eligible"`
    """

    outcome: np.ndarray
    turns: tuple[np.ndarray, ...] | None = None
    channels: Mapping[str, np.ndarray] = field(default_factory=dict)
    turn_channels: Mapping[str, tuple[np.ndarray, ...]] = field(default_factory=dict)
    eligible: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Advantages:
    """Advantages per trajectory and sequence: one [T] float64 array, zero off the mask.

    returns   value targets of a critic, of the same shape, or None
    trains    [T] bool: tokens in loss, terms and denominators; None is every token of the mask
    channels  named further advantages, for terms of the loss; run records do not store them
    """

    tokens: Ragged
    returns: Ragged | None = None
    trains: Ragged | None = None
    channels: Mapping[str, Ragged] = field(default_factory=dict)


class Disposition(NamedTuple):
    """Decision of a step about a rollout.

    kind  trained   the rollout entered an optimiser step
          masked    some or all of its tokens were left out of loss and denominators
          dropped   the rollout, or its whole group, was left out of the step
          unscored  the rollout has no score
          surplus   its group was beyond the number of groups that the step trains
    by    name of the decision's author, such as a selector or "on_ending"; the reason of unscored: stopped, superseded,
          infra_error, verifier_error or reward
    """

    kind: DispositionKind
    by: str = ""


Dispositions = tuple[Disposition, ...]
"""History of a rollout in its step, oldest first."""


@dataclass(frozen=True, eq=False)
class PlayedGroup:
    """All P rollouts of a task in one step, with failed, superseded and stopped ones.

    dispositions  P histories; every part of the step appends its decisions
    ages          [P] float64, age in steps of each rollout's oldest sampled token (`training.loop.staleness`); NaN
                  without sampled tokens, None where ages were not counted
    """

    group: Group
    dispositions: tuple[Dispositions, ...] = ()
    ages: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not self.dispositions:
            object.__setattr__(self, "dispositions", ((),) * len(self.group))

    @property
    def played(self) -> PlayedGroup:
        """This group."""
        return self

    @property
    def scores(self) -> None:
        """None: nothing was scored."""
        return

    @property
    def advantages(self) -> None:
        """None: nothing was rated."""
        return

    @property
    def scorable(self) -> np.ndarray:
        """[P] bool: rollouts that no decision keeps from the reward."""
        closed = ("unscored", "dropped")
        return np.array([all(one.kind not in closed for one in own) for own in self.dispositions], bool)

    def place(self, index: int) -> int | None:
        """None: no rollout was scored."""
        del index
        return None

    def decided(self, decisions: Mapping[str, Disposition]) -> PlayedGroup:
        """Append a disposition to the history of each named rollout. Ids of other groups are ignored."""
        pairs = zip(self.group, self.dispositions, strict=True)
        found = tuple((*own, decisions[one.id]) if one.id in decisions else own for one, own in pairs)
        return replace(self, dispositions=found)

    def siblings(self, chosen: np.ndarray) -> Group:
        """Group of the chosen rollouts, [P] bool."""
        return replace(self.group, trajectories=tuple(self.group[int(i)] for i in np.flatnonzero(chosen)))


@dataclass(frozen=True, eq=False)
class ScoredGroup:
    """The G scored siblings of a played group, with their scores.

    `group` holds the siblings as reward, credit and selectors see them. A selector may replace a sibling by a stored
    trajectory, which `played` lacks.
    """

    played: PlayedGroup
    group: Group
    scores: Scores

    @property
    def advantages(self) -> None:
        """None: nothing was rated."""
        return

    @cached_property
    def _places(self) -> dict[str, int]:
        return {one.id: place for place, one in enumerate(self.group)}

    def place(self, index: int) -> int | None:
        """Index among the siblings of rollout `index` of the played group; None if it was not scored."""
        return self._places.get(self.played.group[index].id)


@dataclass(frozen=True, eq=False)
class RatedGroup:
    """A scored group with its advantages: the element of curricula, selectors, learners and batches.

    trained  [G] bool: siblings whose tokens enter the loss; the others count in statistics only
    part     groups of a lower part train in an earlier optimiser step
    live     False once a selector dropped the group, or the step cut it as surplus
    moved    per sibling and sequence [T] bool: tokens whose log-prob the loss moved; None for a sibling outside every
             optimiser step, None for the group before its step
    """

    scored: ScoredGroup
    advantages: Advantages
    trained: np.ndarray
    part: int = 0
    live: bool = True
    moved: tuple[tuple[np.ndarray, ...] | None, ...] | None = None

    @classmethod
    def of(
        cls, group: Group, scores: Scores, advantages: Advantages, *, trained: np.ndarray | None = None, part: int = 0
    ) -> RatedGroup:
        """Rate a group outside a step: all its trajectories are scored, and all train unless `trained` differs."""
        chosen = np.ones(len(group), bool) if trained is None else trained
        return cls(ScoredGroup(PlayedGroup(group), group, scores), advantages, chosen, part)

    @property
    def played(self) -> PlayedGroup:
        """All rollouts of the group."""
        return self.scored.played

    @property
    def group(self) -> Group:
        """The scored siblings."""
        return self.scored.group

    @property
    def scores(self) -> Scores:
        """Scores of the siblings."""
        return self.scored.scores

    @property
    def dispositions(self) -> tuple[Dispositions, ...]:
        """G histories of the siblings; () for a sibling that was not played in this step."""
        found = {one.id: own for one, own in zip(self.played.group, self.played.dispositions, strict=True)}
        return tuple(found.get(one.id, ()) for one in self.group)

    def place(self, index: int) -> int | None:
        """Index among the siblings of rollout `index` of the played group; None if it was not scored."""
        return self.scored.place(index)

    def training_mask(self, index: int) -> tuple[np.ndarray, ...]:
        """Per sequence of a sibling [T] bool: tokens in loss, terms and denominators."""
        chosen, trains = bool(self.trained[index]), self.advantages.trains
        masks = tuple(sequence.mask & chosen for sequence in self.group[index].sequences)
        return masks if trains is None else tuple(a & b for a, b in zip(masks, trains[index], strict=True))

    def decided(self, decisions: Mapping[str, Disposition]) -> RatedGroup:
        """Append a disposition to the history of each named rollout."""
        return replace(self, scored=replace(self.scored, played=self.played.decided(decisions)))

    def with_group(self, group: Group, scores: Scores | None = None) -> RatedGroup:
        """The same ratings with other siblings, and with other scores unless `scores` is None."""
        chosen = self.scores if scores is None else scores
        return replace(self, scored=replace(self.scored, group=group, scores=chosen))


class Pair(NamedTuple):
    """Preference pair of one task. `strength` >= 0 is the margin; 0 is a tie."""

    chosen: Trajectory
    rejected: Trajectory
    strength: float = 1.0
