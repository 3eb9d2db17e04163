"""Population of system instructions, sampled by reward and evolved during a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import Message, RatedGroup, Task, Trajectory
from handaxe.curricula.advice import Failure, Propose, failure_tags
from handaxe.curricula.in_order import in_order
from handaxe.ops.ragged import group_rewards
from handaxe.ops.seeds import derive_seed, generator
from handaxe.ops.stateful_composite import StatefulComposite

__all__ = ["Instruction", "Instructions", "instructions"]

Order = Callable[[list[Task], int], Curriculum]


@dataclass
class Instruction:
    """Member of the population. `weight` is None during the trial, until `groups` groups were observed; `attempts`
    counts the rollouts and `total` sums the rewards.
    """

    name: str
    text: str
    weight: float | None = None
    groups: int = 0
    attempts: int = 0
    total: float = 0.0


def instructions(
    *,
    initial: Sequence[str],
    propose: Propose | None = None,
    every: int = 10,
    prune: int = 1,
    parents: int = 1,
    trial: int = 3,
    temperature: float = 0.1,
    rate: float = 0.1,
    failed_below: float = 0.5,
    failures: int = 64,
    tags: Callable[[Trajectory], tuple[str, ...]] = failure_tags,
    conversation: Callable[[Trajectory], str] | None = None,
    order: Order | None = None,
) -> "Instructions":
    """Give each task an instruction sampled from a population whose weights follow the rewards.

        p_j = softmax(w_j / temperature)                 instruction of a task, the same for all siblings
        w_j <- (1 - rate) w_j + rate mean(R)             after each step, over its rollouts with instruction j
        every `every` steps: `propose` improves the instructions of most weight from their failures, the best first,
        until there are `prune` new ones; they are put on trial and take the places of those of least weight

    R_i is the outcome plus the per-turn rewards. The first tasks of a step get an instruction on trial until it has had
    `trial` groups; its weight is then the mean reward of their rollouts. The initial instructions are on trial, too. An
    instruction is the system prompt of the task, in place of one that the task has, and does not train; task ids stay,
    and `metadata["instruction"]` is its name.

    Args:
        initial: distinct texts, at least one; "" adds no message. Their number is the size limit of the population.
        propose: see `curricula.advice`; None proposes nothing, which leaves a bandit.
        every: steps between evolutions, >= 1. Unconfirmed.
        prune: most instructions replaced at a time, >= 1; the best one and those on trial stay.
        parents: most instructions that `propose` improves at a time, >= 1. Unconfirmed.
        trial: groups of a trial, >= 1.
        temperature: of the softmax, in units of reward, > 0. Unconfirmed.
        rate: of the moving average, in (0, 1]. Unconfirmed.
        failed_below: rollouts with a reward below are failures, in units of reward.
        failures: number of failures stored for `propose`: those of least reward, the latest first.
        tags: trajectory -> reasons of its failure, for a rule.
        conversation: trajectory -> its text, for a model; None stores none.
        order: (tasks, seed) -> curriculum that chooses tasks; None goes through them in order.

    Returns:
        A population. `curriculum(tasks, seed)` is a curriculum that carries its state; `with_best(task)` prepends the
        instruction of most weight, for evaluations: the first one before any trial has ended.

    Raises:
        InputError: a number out of range; no instruction, or two equal ones.

    Example:
        w = 0.5, 0.3, 0.1, temperature 0.1  ->  p = 0.867, 0.117, 0.016;  temperature 1  ->  0.402, 0.329, 0.269
        w = 0.5, rate 0.1, mean reward 0.2  ->  w = 0.47

    Paper: arXiv:2512.01945 (INSPO). Unconfirmed: the update of the weights, and all numbers.
    Differs: a candidate is verified on groups that train, instead of a batch of its own, and keeps its reward there as
    weight, so that the next pruning selects, instead of a top-K.
    """
    if not initial or len(set(initial)) < len(initial):
        raise InputError("instructions needs at least one initial text, and distinct ones")
    if min(every, prune, parents, trial) < 1 or failures < 0 or temperature <= 0 or not 0 < rate <= 1:
        raise InputError(
            f"every is {every}, prune {prune}, parents {parents}, trial {trial}, failures {failures}, temperature "
            f"{temperature} and rate {rate}; give 1 or more of the first four, 0 or more failures, a temperature above "
            "0, a rate in (0, 1]"
        )
    numbers = _Numbers(every, prune, parents, trial, temperature, rate, failed_below, failures)
    return Instructions(tuple(initial), propose, numbers, tags, conversation or _untold, order)


class _Numbers(NamedTuple):
    """Numeric arguments of `instructions`."""

    every: int
    prune: int
    parents: int
    trial: int
    temperature: float
    rate: float
    failed_below: float
    failures: int


class Instructions:
    """Population of `instructions`."""

    def __init__(
        self,
        initial: tuple[str, ...],
        propose: Propose | None,
        numbers: "_Numbers",
        tags: Callable[[Trajectory], tuple[str, ...]],
        conversation: Callable[[Trajectory], str],
        order: Order | None,
    ):
        self.population = [Instruction(f"i{k}", text) for k, text in enumerate(initial)]
        self.failures: list[Failure] = []
        self._made = self._most = len(initial)
        self._evolved = 0
        self._propose = propose
        self._numbers = numbers
        self._tags = tags
        self._conversation = conversation
        self._order = order

    def curriculum(self, tasks: list[Task], seed: int) -> Curriculum:
        """Curriculum over the tasks, each with an instruction of the population; it updates the population."""
        order = in_order(tasks, seed=seed) if self._order is None else self._order(tasks, seed)
        return _Instructed(self, order, seed)

    @property
    def tried(self) -> list[Instruction]:
        """Instructions after the trial."""
        return [one for one in self.population if one.weight is not None]

    @property
    def best(self) -> Instruction:
        """Instruction of most weight, the oldest among equals; the first of all before any trial has ended."""
        return max(self.tried or self.population[:1], key=_weight)

    def with_best(self, task: Task) -> Task:
        """Prepend the best instruction to the task."""
        return _opened(task, self.best)

    @property
    def made(self) -> int:
        """Number of proposals that came into the population."""
        return self._made - self._most

    def is_proposed(self, trajectory: Trajectory) -> bool:
        """Check whether the task of a rollout has an instruction that an evolution added."""
        return self._is_late(trajectory.task.metadata.get("instruction", "i0"))

    def is_added(self, one: Instruction) -> bool:
        """Check whether an evolution added an instruction."""
        return self._is_late(one.name)

    def _is_late(self, name: str) -> bool:
        return int(name.removeprefix("i")) >= self._most

    def chances(self) -> list[float]:
        """Probability of each instruction of `tried`."""
        logits = np.array([_weight(one) / self._numbers.temperature for one in self.tried])
        weights = np.exp(logits - logits.max(initial=-np.inf))
        return (weights / weights.sum()).tolist()

    def draw(self, count: int, *, step: int, seed: int) -> list[Instruction]:
        """Choose the instructions of a step's `count` tasks: first those on trial, the others by probability."""
        pending = [
            (k, one) for one in self.population for k in range(one.groups, self._numbers.trial) if one.weight is None
        ]
        chosen = [one for _, one in sorted(pending, key=lambda pair: pair[0])][:count]
        candidates, chances = (self.tried, self.chances()) if self.tried else (self.population, None)
        for k in range(len(chosen), count):
            chosen.append(candidates[int(generator("instructions", seed, step, k).choice(len(candidates), p=chances))])
        return chosen

    def evolve(self, step: int, seed: int) -> None:
        """Put proposals on trial in the places of the worst, if the step is due and was not evolved before."""
        if self._propose is None or step <= self._evolved or step % self._numbers.every or not self.tried:
            return
        new = self._proposals(derive_seed("instructions", seed, step, "propose"))
        worst = sorted((one for one in self.tried if one is not self.best), key=_weight)[: self._numbers.prune]
        free = self._most - len(self.population)
        leaving = worst[: max(0, len(new) - free)]
        self.population = [one for one in self.population if one not in leaving]
        for text in new[: free + len(leaving)]:
            self.population.append(Instruction(f"i{self._made}", text))
            self._made += 1
        self._evolved = step

    def _proposals(self, seed: int) -> list[str]:
        """New texts from the instructions of most weight, the best first, until there are `prune`."""
        assert self._propose is not None
        known = {one.text for one in self.population}
        new = list[str]()
        for parent in sorted(self.tried, key=_weight, reverse=True)[: self._numbers.parents]:
            own = [one for one in self.failures if one.instruction == parent.name] or self.failures
            new += [text for text in dict.fromkeys(self._propose(parent.text, own, seed)) if text not in {*known, *new}]
            if len(new) >= self._numbers.prune:
                break
        return new

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Update weights, trials and failures from the groups of a step."""
        for one in self.population:
            own_groups = [group for group in groups if group.group.task.metadata.get("instruction") == one.name]
            rewards = [group_rewards(group.group, group.scores) for group in own_groups]
            reward_R = np.concatenate([np.zeros(0), *[reward_G[~np.isnan(reward_G)] for reward_G in rewards]])
            if not len(reward_R):
                continue
            one.groups, one.attempts = one.groups + len(own_groups), one.attempts + len(reward_R)
            one.total += float(reward_R.sum())
            if one.weight is not None:
                one.weight = (1 - self._numbers.rate) * one.weight + self._numbers.rate * float(reward_R.mean())
            elif one.groups >= self._numbers.trial:
                one.weight = one.total / one.attempts
        new = [failure for group in groups for failure in self._failed(group)]
        self.failures = sorted([*new[::-1], *self.failures], key=lambda one: one.reward)[: self._numbers.failures]

    def state_dict(self) -> dict[str, Any]:
        population = [asdict(one) for one in self.population]
        failures = [list(one) for one in self.failures]
        return {"population": population, "failures": failures, "made": self._made, "evolved": self._evolved}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.population = [Instruction(**one) for one in state["population"]]
        self.failures = [
            Failure(name, task, said, reward, tuple(tags), conversation)
            for name, task, said, reward, tags, conversation in state["failures"]
        ]
        self._made, self._evolved = int(state["made"]), int(state["evolved"])

    def _failed(self, one: RatedGroup) -> list[Failure]:
        name, reward_G = one.group.task.metadata.get("instruction", ""), group_rewards(one.group, one.scores)
        return [
            Failure(
                name,
                one.group.task.id,
                trajectory.final_text,
                float(reward),
                self._tags(trajectory),
                self._conversation(trajectory),
            )
            for trajectory, reward in zip(one.group, reward_G, strict=True)
            if reward < self._numbers.failed_below
        ]


class _Instructed(StatefulComposite):
    """Curriculum that prepends instructions to the tasks of another; implements `protocols.Curriculum`."""

    def __init__(self, population: Instructions, order: Curriculum, seed: int):
        self._population = population
        self._order = order
        self._seed = seed

    def next(self, step: int, count: int) -> list[Task]:
        tasks = self._order.next(step, count)
        self._population.evolve(step, self._seed)
        drawn = self._population.draw(len(tasks), step=step, seed=self._seed)
        return [_opened(task, one) for task, one in zip(tasks, drawn, strict=True)]

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        self._order.observe(groups)
        self._population.observe(groups)

    def parts(self) -> Mapping[str, object]:
        return {"order": self._order, "population": self._population}


def _opened(task: Task, one: Instruction) -> Task:
    system = (Message("system", one.text),) if one.text else ()
    rest = tuple(message for message in task.messages if message.role != "system")
    return replace(task, messages=(*system, *rest), metadata={**task.metadata, "instruction": one.name})


def _untold(trajectory: Trajectory) -> str:
    del trajectory
    return ""


def _weight(one: Instruction) -> float:
    return -np.inf if one.weight is None else one.weight
