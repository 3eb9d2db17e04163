"""Meta agent search: an archive of agents in code grows by proposals that start from the archive."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed, generator
from handaxe.papers.adas.agent_code import CHOICES, AgentDesign, AgentResult, write_agent

__all__ = ["AgentArchive", "ArchivedAgent", "Fitness", "SEEDS", "bootstrap_fitness", "repaired", "search_agents"]

SEEDS = {
    "chain_of_thought": AgentDesign(),
    "self_consistency": AgentDesign(restarts=16, vote=True),
    "self_refine": AgentDesign(refinements=16),
    "debate": AgentDesign(samples=2, refinements=4, restarts=4, vote=True),
    "step_back": AgentDesign(samples=8, step_back=True),
    "quality_diversity": AgentDesign(samples=4, restarts=4),
    "role_assignment": AgentDesign(samples=4, roles=True),
}
"""Agents at the start of the archive, named after the paper's."""
DRAWS = 1000
"""Resamples of a bootstrap."""
REFLECTIONS = 2
DEBUGS = 3


class Fitness(NamedTuple):
    """Median and 95 % interval of the mean over resamples."""

    median: float
    low: float
    high: float


class ArchivedAgent(NamedTuple):
    """Agent of an archive. origin: name of a seed, or the number of the generation."""

    origin: str
    design: AgentDesign
    code: str
    fitness: Fitness


@dataclass
class AgentArchive:
    """Agents in the order of their discovery, and the numbers of repairs and of discarded agents."""

    agents: list[ArchivedAgent] = field(default_factory=list)
    debugs: int = 0
    discarded: int = 0

    @property
    def best(self) -> ArchivedAgent:
        """Agent with the greatest median fitness, the first of equal ones."""
        return max(self.agents, key=lambda one: one.fitness.median)

    def curve(self) -> list[float]:
        """Best median fitness after each agent.

        Example:
            fitness 0.4, 0.5, 0.45 -> 0.4, 0.5, 0.5
        """
        return np.maximum.accumulate([one.fitness.median for one in self.agents]).tolist()


def bootstrap_fitness(correct_T: np.ndarray, *, seed: int) -> Fitness:
    """Estimate an agent's accuracy by the bootstrap.

        m_b = mean of T values drawn with replacement, b = 1 .. 1000;  median and 2.5 % and 97.5 % quantiles of m_b

    Args:
        correct_T: 0 or 1 by task, at least one.
        seed: of the resamples.

    Raises:
        InputError: no task.

    Example:
        1, 0, 1, 1 -> median 0.75

    Paper: arXiv:2408.08435 (ADAS), fitness that the meta agent reads: median and 95 % bootstrap interval.
    Differs: nothing known.
    """
    value_T = np.asarray(correct_T, np.float64)
    if not value_T.size:
        raise InputError("a fitness needs one task or more")
    draws_BT = generator("adas bootstrap", seed).integers(len(value_T), size=(DRAWS, len(value_T)))
    low, median, high = np.quantile(value_T[draws_BT].mean(1), (0.025, 0.5, 0.975))
    return Fitness(float(median), float(low), float(high))


def search_agents(
    judge: Callable[[str], AgentResult], *, generations: int, seed: int, from_archive: bool = True
) -> AgentArchive:
    """Search agents: the seeds, then one new agent a generation, which is always archived.

    A proposal changes one to three parameters of a design of the archive, drawn by rank of fitness, or crosses two; its
    code is written by a grammar. Two reflections replace a proposal that the archive has. An agent with an error is
    debugged up to three times, by `repaired`; one that still fails is discarded.

    Args:
        judge: runs an agent's code on validation tasks.
        generations: N, >= 0; 30 in the paper.
        seed: of the proposals.
        from_archive: False draws every parameter evenly: proposals without the archive.

    Paper: arXiv:2408.08435 (ADAS), algorithm of Meta Agent Search.
    Differs: a grammar proposes, where the paper's meta agent, a language model, writes thought, name and code.
    """
    rng = random.Random(derive_seed("adas", seed))
    archive = AgentArchive()
    for name, design in SEEDS.items():
        _archive(archive, judge, name, design, seed)
    for number in range(generations):
        known = {one.design for one in archive.agents}
        design = _propose(archive, rng, from_archive)
        for _ in range(REFLECTIONS):
            if design in known:
                design = _propose(archive, rng, from_archive)
        _archive(archive, judge, str(number), design, seed)
    return archive


def repaired(design: AgentDesign) -> AgentDesign:
    """Halve the largest of samples, refinements and restarts: the repair of an agent over its budget.

    Example:
        samples 4, refinements 16, restarts 2  ->  refinements 8
    """
    numbers = {"samples": design.samples, "refinements": design.refinements, "restarts": design.restarts}
    name = max(numbers, key=lambda one: numbers[one])
    halved = {**design._asdict(), name: max(numbers[name] // 2, 1)}
    return AgentDesign(**halved)


def _archive(
    archive: AgentArchive, judge: Callable[[str], AgentResult], origin: str, design: AgentDesign, seed: int
) -> None:
    for attempt in range(DEBUGS + 1):
        code = write_agent(design)
        found = judge(code)
        if not found.error:
            fitness = bootstrap_fitness(found.correct_T, seed=seed)
            archive.agents.append(ArchivedAgent(origin, design, code, fitness))
            return
        if attempt < DEBUGS:
            archive.debugs += 1
            design = repaired(design)
    archive.discarded += 1


def _propose(archive: AgentArchive, rng: random.Random, from_archive: bool) -> AgentDesign:
    drawn = AgentDesign._make(rng.choice(options) for options in CHOICES.values())
    if not from_archive:
        return drawn
    ranked = sorted(archive.agents, key=lambda one: -one.fitness.median)
    one, other = (_pick(ranked, rng) for _ in range(2))
    if rng.random() < 0.3:
        return AgentDesign._make(rng.choice(pair) for pair in zip(one, other, strict=True))
    changed = rng.sample(list(CHOICES), rng.randint(1, 3))
    return one._replace(**{name: getattr(drawn, name) for name in changed})


def _pick(ranked: Sequence[ArchivedAgent], rng: random.Random) -> AgentDesign:
    """Draw an agent with weight 1 / rank."""
    weights = [1 / (rank + 1) for rank in range(len(ranked))]
    return rng.choices(ranked, weights)[0].design
