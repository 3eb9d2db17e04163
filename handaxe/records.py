"""The nouns of handaxe: plain data, no behaviour beyond views of itself.

Legend of shape suffixes, used everywhere: B batch rows (one row is one token sequence), G siblings of a
group, N turns, S sequences of a trajectory, T tokens, V vocabulary, D hidden width.

A two-turn trajectory as its one sequence stores it (P prompt, A sampled, E tool reply, lower case = glue
that the chat format wrote):

    ids       P0 P1 g0 | A0 A1 | g1 E0 g2 | A2
    author    U  U  t  | p  p  | t  T  t  | p       user, template, policy, tool
    turn      -1 -1 -1 | 0  0  | 0  0  0  | 1       -1 before the first turn; a reply belongs to the turn it answers
    mask      0  0  0  | 1  1  | 0  0  0  | 1       author == POLICY
    logp      0  0  0  | x  x  | 0  0  0  | x       log-prob of the token under the policy that sampled it
    version   -1 -1 -1 | 7  7  | -1 -1 -1 | 7       which weights wrote it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, NamedTuple

import numpy as np

from handaxe.errors import RecordError

__all__ = [
    "Advantages",
    "Author",
    "Branch",
    "Ending",
    "Group",
    "Message",
    "ParsedTurn",
    "Rated",
    "Sampling",
    "Scores",
    "Sequence",
    "Task",
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
    """Who wrote a token. Only POLICY tokens are ever trained."""

    TEMPLATE = 0
    USER = 1
    TOOL = 2
    POLICY = 3


@dataclass(frozen=True)
class ToolCall:
    """One call that the policy made. `id` is unique within the trajectory, so that a tool can be idempotent."""

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
    """One chat message. `calls` only on assistant messages; `call_id` and `name` only on tool messages."""

    role: Role
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""


@dataclass(frozen=True)
class Task:
    """One thing to try. `tools` names the tools offered; () offers none, None all that the environment has.

    `answer` is what a reward compares with (None: no reference answer). `metadata` is JSON.
    """

    id: str
    messages: tuple[Message, ...]
    answer: Any = None
    tools: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Sampling:
    """The exact distribution tokens are drawn from: softmax(logits / temperature), cut to top_k and top_p.

    `temperature` 0 is greedy. `top_k` 0 and `top_p` 1.0 cut nothing. `max_tokens` bounds one turn.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int = 64


@dataclass(frozen=True)
class ParsedTurn:
    """What a turn's sampled ids mean.

    `raw` is all of it decoded; `text` the part outside calls; `errors` one message for each malformed call.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    errors: tuple[str, ...] = ()
    raw: str = ""


@dataclass(frozen=True)
class Turn:
    """One act of the policy: ids [start, stop) of sequence `sequence`, and what came of it.

    `finish`: stop (the policy ended its turn), length (cut; calls in it are not executed) or header (it began
    to write somebody else's turn). `seconds` and `cost` are of sampling; those of tools stand in `replies`.
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


@dataclass(frozen=True, eq=False)
class Sequence:
    """Parallel arrays over the T tokens of one row; see the module's drawing.

    logp            [T] float32, log softmax(logits / temperature) over the whole vocabulary; 0 off the mask
    behaviour_logp  [T] float32, the same after top_k and top_p, that is of the distribution drawn from
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
        """[T] bool: the tokens that the policy wrote."""
        return self.author == Author.POLICY


@dataclass(frozen=True)
class Ending:
    """How a trajectory ended. `reason` is length, turns or budget when truncated, else a sentence or empty."""

    kind: EndingKind
    reason: str = ""


class Branch(NamedTuple):
    """A fork: this trajectory shares the first `token` ids of sequence `sequence` of sibling `trajectory`."""

    trajectory: str
    sequence: int
    token: int


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One attempt at a task. `messages` is the whole conversation; `env` is what the environment reports at the
    end (JSON), for rewards on state; `seed` is derived from (run, step, task, sample)."""

    id: str
    task: Task
    sample: int
    turns: tuple[Turn, ...]
    sequences: tuple[Sequence, ...]
    ending: Ending
    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...] = ()
    seed: int = 0
    branch_of: Branch | None = None
    env: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

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
        """Cost of sampling and of tools, in the unit the tools declare."""
        return sum(turn.cost for turn in self.turns) + sum(reply.cost for reply in self.replies)


@dataclass(frozen=True, eq=False)
class Group:
    """The G sibling trajectories of one task: the unit of reward, credit and selection. `step` is the training
    step they were made for."""

    task: Task
    trajectories: tuple[Trajectory, ...]
    step: int = 0

    def __len__(self) -> int:
        return len(self.trajectories)

    def __iter__(self):
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
    """Per trajectory, per sequence one [T] float64 array, zero wherever the policy did not write.

    `returns`, where a critic is trained, has the same raggedness and holds the value targets.
    """

    tokens: tuple[tuple[np.ndarray, ...], ...]
    returns: tuple[tuple[np.ndarray, ...], ...] | None = None


@dataclass(frozen=True, eq=False)
class Rated:
    """A group on its way to the batch. `trained` [G] bool: siblings whose tokens enter the loss; the others
    were scored and counted in statistics but are left out of loss and denominators."""

    group: Group
    scores: Scores
    advantages: Advantages
    trained: np.ndarray


def check(trajectory: Trajectory) -> None:
    """Check every invariant of the module's drawing.

    Args:
        trajectory: what a rollout returned, or what you built by hand.

    Raises:
        RecordError: naming the trajectory and every invariant it breaks, one a line.
    """
    problems = [p for i, s in enumerate(trajectory.sequences) for p in _sequence_problems(i, s)]
    if not trajectory.sequences:
        problems.append("it has no sequence")
    if not problems:
        problems = _turn_problems(trajectory)
    if problems:
        raise RecordError(f"trajectory {trajectory.id!r} breaks the record:\n  " + "\n  ".join(problems))


def _sequence_problems(index: int, sequence: Sequence) -> list[str]:
    name, mask, length = f"sequence {index}", sequence.mask, len(sequence.ids)
    arrays = {k: getattr(sequence, k) for k in ("author", "turn", "logp", "behaviour_logp", "version")}
    arrays |= sequence.features
    problems = [f"{name}: {k} has {len(a)} entries for {length} ids" for k, a in arrays.items() if len(a) != length]
    if problems:
        return problems
    if not length:
        return [f"{name} is empty"]
    for key in ("logp", "behaviour_logp"):
        values = arrays[key]
        if not np.all(np.isfinite(values[mask])) or np.any(values[mask] > 1e-5):
            problems.append(f"{name}: {key} of a sampled token is not a log-probability")
        if np.any(values[~mask] != 0):
            problems.append(f"{name}: {key} is not 0 where the policy did not write")
    if np.any(sequence.behaviour_logp[mask] < sequence.logp[mask] - 1e-4):
        problems.append(f"{name}: behaviour_logp is below logp, but cutting a distribution only raises what is left")
    if np.any(sequence.version[mask] < 0) or np.any(sequence.version[~mask] != -1):
        problems.append(f"{name}: version must be >= 0 on sampled tokens and -1 elsewhere")
    if mask[0]:
        problems.append(f"{name}: its first token is sampled, but a policy needs at least one token to see")
    return problems


def _turn_problems(trajectory: Trajectory) -> list[str]:
    problems, seen = [], [np.zeros(len(s), bool) for s in trajectory.sequences]
    for k, turn in enumerate(trajectory.turns):
        if not 0 <= turn.sequence < len(seen) or not 0 < turn.start < turn.stop <= len(seen[turn.sequence]):
            problems.append(f"turn {k}: span [{turn.start}, {turn.stop}) is not inside sequence {turn.sequence}")
            continue
        span, sequence = slice(turn.start, turn.stop), trajectory.sequences[turn.sequence]
        if not np.all(sequence.mask[span]) or np.any(sequence.turn[span] != k):
            problems.append(f"turn {k}: its span holds tokens of another author or turn")
        seen[turn.sequence][span] = True
        made = {call.id for call in turn.parsed.calls}
        if len(made) != len(turn.parsed.calls):
            problems.append(f"turn {k}: two calls share an id")
        if turn.finish == "length" and turn.replies:
            problems.append(f"turn {k}: it was cut by the length limit, yet a tool replied")
        if any(reply.call_id and reply.call_id not in made for reply in turn.replies):
            problems.append(f"turn {k}: a reply answers a call that was not made in it")
    for i, sequence in enumerate(trajectory.sequences):
        if np.any(sequence.mask & ~seen[i]):
            problems.append(f"sequence {i}: sampled tokens that belong to no turn")
    if trajectory.ending.kind == "truncated" and trajectory.ending.reason not in ("length", "turns", "budget"):
        problems.append(f"truncated for {trajectory.ending.reason!r}; give length, turns or budget")
    return problems
