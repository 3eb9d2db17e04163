"""World: a task distribution, the environment that tasks are played in, and the rule for a correct answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric, Statistic
from handaxe.core.protocols import Check, Curriculum, EnvFactory, Reward, Rollout
from handaxe.core.records import Criterion, Message, Task, ToolCall, Trajectory, Turn
from handaxe.rollouts.linear import linear

if TYPE_CHECKING:
    import numpy as np

__all__ = ["DemonstrationNoise", "Expert", "Exploration", "Facts", "Split", "Start", "World"]

Split = Literal["train", "test"]
Facts = Mapping[str, Any]
"""JSON state of a rollout before the next turn.

    turn                turns so far
    replies, statuses   texts and statuses ("ok" or an error) of the last turn's tool results
    tools               names of the offered tools
    sure                False: call a tool wherever a call is possible, also where no call is needed
    ...                 further facts of the environment (EnvReply.facts)
"""
Expert = Callable[[Task, Facts], Message]
"""(task, facts) -> the correct assistant message in this state."""


class DemonstrationNoise(NamedTuple):
    """Rates of deviation from the expert in demonstrations, each from 0 to 1.

    call_rate: share of the expert's calls that are made. spurious_rate: share of tasks without a needed call that
    start with a call. corrupt_rate: share of the calls that are corrupted: a missing digit, an unopened call, or an
    unknown tool or argument.
    """

    call_rate: float = 1.0
    spurious_rate: float = 0.0
    corrupt_rate: float = 0.0


class Start(NamedTuple):
    """Supervised training of a world's cold-start checkpoint: warmup pairs, exact demonstrations, noisy demonstrations.

    noise: deviations in the last phase, which RL is to remove. skill: steps on exact demonstrations. steps: steps on
    noisy demonstrations. warmup: (prompt, answer) pairs to memorize, worded unlike any task; knowledge that a larger
    model has. Warmup pairs are trained alone for `warmup_steps`, then in every other conversation.
    """

    noise: DemonstrationNoise = DemonstrationNoise()
    skill: int = 300
    steps: int = 100
    batch_size: int = 32
    learning_rate: float = 1e-3
    warmup: tuple[tuple[str, str], ...] = ()
    warmup_steps: int = 0


class Exploration(NamedTuple):
    """Task-free exploration of a world.

    openings: (count, seed) -> tasks without an answer, which name an entity and no goal. propose: (trajectory) -> tasks
    derived from the exploration, all of the training split, each with its answer and, under "gold_calls", the reference
    calls.
    """

    openings: Callable[[int, int], list[Task]]
    propose: Callable[[Trajectory], list[Task]]


@dataclass(frozen=True, kw_only=True)
class World:
    """Task distribution, environment and correctness rule of a run. Fields below `correct` are optional; a method
    requires one with `need`.

    tasks       (split, count, seed) -> tasks; no question is in both splits, and equal seeds give equal tasks
    env         (tools) -> factory of environments; a world with built-in tools adds these
    correct     reward that decides whether an answer is correct
    tools       default tools
    roles       parts of the environment that an auxiliary policy of this name plays, such as "user"
    user_tools  the world has no tools of its own and is for tools of the user; a mixture offers it all tools
    breakdown   keys of task metadata that evaluations are broken down by
    hidden_keys  keys of task metadata that belong to the question and are hidden from the policy
    is_answer   whether a turn states an answer
    reference   reference calls of a task, for rewards that compare calls
    expert      correct message in a state; scores 1 on every task (in a world with irreducible noise: with the noise
                turned off)
    start       training of the cold-start checkpoint
    start_turns  turn limit of a demonstration
    start_context  context length of the cold-start checkpoint of a tiny policy, in tokens
    start_model  packaged model that the cold-start checkpoint is trained from, unless another is given
    criteria, check  criteria of a task, and whether each is met after each turn
    verdicts    (trajectory) -> [N] rule-based correctness of each turn: 1, -1, or 0 for neither
    solution    (task) -> worked solution in words; "" if there is none
    exploration  task-free exploration
    rollout     (turn limit) -> default rollout strategy; None: `linear`
    curriculum  (training tasks, seed) -> default curriculum, such as one that follows weights; None: `in_order`
    gauges, statistics  further metrics of an evaluation, by name
    files       option of the world -> file, folder or pattern of files that it read; a run keeps a copy
    images      option of `files` -> images that the file names, as paths relative to its folder
    """

    name: str
    tasks: Callable[[Split, int, int], list[Task]]
    env: Callable[[Sequence[Any]], EnvFactory]
    correct: Reward
    tools: tuple[Any, ...] = ()
    roles: tuple[str, ...] = ()
    user_tools: bool = False
    breakdown: tuple[str, ...] = ()
    hidden_keys: tuple[str, ...] = ()
    is_answer: Callable[[Turn], bool] | None = None
    reference: Callable[[Task], tuple[ToolCall, ...]] | None = None
    expert: Expert | None = None
    start: Start | None = None
    start_turns: int = 8
    start_context: int = 512
    start_model: str = "tiny"
    criteria: Callable[[Task], Sequence[Criterion]] | None = None
    check: Check | None = None
    verdicts: Callable[[Trajectory], np.ndarray] | None = None
    solution: Callable[[Task], str] | None = None
    exploration: Exploration | None = None
    rollout: Callable[[int], Rollout] | None = None
    curriculum: Callable[[list[Task], int], Curriculum] | None = None
    gauges: Mapping[str, RatioMetric] = field(default_factory=dict)
    statistics: Mapping[str, Statistic] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)
    images: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def make_rollout(self, max_turns: int) -> Rollout:
        """Create the world's rollout strategy with a turn limit."""
        return linear(max_turns=max_turns) if self.rollout is None else self.rollout(max_turns)

    def need(self, field: str) -> Any:
        """Return the value of an optional field.

        Raises:
            InputError: the field is missing; the message names the world and the field.
        """
        value = getattr(self, field)
        if value is None or value == () or value == {}:
            raise InputError(f"world {self.name!r} has no {field!r}, which this method needs: choose another --world")
        return value
