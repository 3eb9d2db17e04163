"""What a world is: tasks, an environment, what is right in it, and what recipes may ask of it besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric, Statistic
from handaxe.core.protocols import Check, EnvFactory, Reward, Rollout
from handaxe.core.records import Criterion, Message, Task, ToolCall, Trajectory, Turn
from handaxe.rollouts.linear import linear

if TYPE_CHECKING:
    import numpy as np

__all__ = ["DemonstrationNoise", "Expert", "Exploring", "Facts", "Split", "Start", "World"]

Split = Literal["train", "test"]
Facts = Mapping[str, Any]
"""The state of an attempt, as JSON: "turn" (turns taken), "replies" and "statuses" (of the last turn's tool replies:
their texts, and "ok" or what went wrong), "tools" (names of those offered), "sure" (False asks for a call wherever one
helps, even where it is not needed), and what the environment said of it (EnvReply.facts)."""
Expert = Callable[[Task, Facts], Message]
"""(task, facts) -> the assistant message that is right in this state."""


class DemonstrationNoise(NamedTuple):
    """How often demonstrations call tools, as shares from 0 to 1.

    needed: calls made where the expert makes one. needless: calls made where it makes none. clumsy: of the calls made,
    those made badly (a digit lost, a call left open, an argument that is not in the schema).
    """

    needed: float = 1.0
    needless: float = 0.0
    clumsy: float = 0.0


class Start(NamedTuple):
    """How the tiny policy that reinforcement learning begins from is made in a world: supervised steps on the expert's
    conversations, first with every call right (`skill`), then with the habit that training is to change (`steps`).

    lessons: (what is said, what is answered at once) that the policy is to know by heart, as a larger model would, in
    words that no task has. They come first, for `drill` steps, and then in every other conversation.
    """

    habit: DemonstrationNoise = DemonstrationNoise()
    skill: int = 300
    steps: int = 100
    batch_size: int = 32
    learning_rate: float = 1e-3
    lessons: tuple[tuple[str, str], ...] = ()
    drill: int = 0


class Exploring(NamedTuple):
    """How a world is tried out without a task.

    openings: (count, seed) -> as many tasks without an answer, which say what there is and not what to do.
    propose: (attempt at one) -> tasks that may be made of what it found, of the training split alone, each with its
    answer and, under "gold_calls", the calls that lead to it.
    """

    openings: Callable[[int, int], list[Task]]
    propose: Callable[[Trajectory], list[Task]]


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything a recipe needs to know of where it trains. Fields below `correct` are optional: a recipe that needs
    one asks for it with `need`.

    tasks       (split, count, seed) -> tasks; no question is in both splits, and the same seed gives the same tasks
    env         (tools) -> factory of environments; a world with tools of its own adds these
    correct     the reward that says what is right
    tools       tools that are offered where the user names none
    by          keys of task metadata that evaluations are broken down by
    hidden      keys of task metadata that belong to the question though the policy is not told: what it has to find out
    answered    whether a turn states an answer
    reference   the calls that are right for a task, for rewards that compare calls
    expert      what to say in a state; it scores 1 on every task; where a world has noise that no expert can see
                through, with the noise turned off
    start       how the policy that training begins from is made of the expert's conversations
    start_turns  most turns of such a conversation
    criteria, check  what can be checked of an attempt at a task, and whether each of it is met after each turn
    verdicts    (attempt) -> [N] of every turn whether it is right by itself, 1 or -1 (0: neither), by rule
    solution    (task) -> a worked solution in words; "" where there is none
    exploring   how it is tried out without a task, and what may be asked of what is found
    rollout     (most turns) -> how attempts are played where a recipe does not say; None: one after another, `linear`
    gauges, statistics  further figures of an evaluation, by name
    """

    name: str
    tasks: Callable[[Split, int, int], list[Task]]
    env: Callable[[Sequence[Any]], EnvFactory]
    correct: Reward
    tools: tuple[Any, ...] = ()
    by: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    answered: Callable[[Turn], bool] | None = None
    reference: Callable[[Task], tuple[ToolCall, ...]] | None = None
    expert: Expert | None = None
    start: Start | None = None
    start_turns: int = 8
    criteria: Callable[[Task], Sequence[Criterion]] | None = None
    check: Check | None = None
    verdicts: Callable[[Trajectory], np.ndarray] | None = None
    solution: Callable[[Task], str] | None = None
    exploring: Exploring | None = None
    rollout: Callable[[int], Rollout] | None = None
    gauges: Mapping[str, RatioMetric] = field(default_factory=dict)
    statistics: Mapping[str, Statistic] = field(default_factory=dict)

    def plays(self, max_turns: int) -> Rollout:
        """How attempts of so many turns are played here."""
        return linear(max_turns=max_turns) if self.rollout is None else self.rollout(max_turns)

    def need(self, field: str) -> Any:
        """The value of an optional field.

        Raises:
            InputError: the world lacks it; the message names the world and the field.
        """
        value = getattr(self, field)
        if value is None or value == () or value == {}:
            raise InputError(f"world {self.name!r} has no {field!r}, which this recipe needs: choose another --world")
        return value
