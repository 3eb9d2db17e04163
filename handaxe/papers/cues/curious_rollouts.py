"""Exploration without a task: searches for names that were seen and concepts of the world, by a memory of searches."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.ops.seeds import derive_seed
from handaxe.papers.cues.exploration_memory import ExplorationMemory
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Expert, Facts, World

__all__ = ["concept_pool", "curious_rollouts"]

SEARCH = "search"
COMMON = 0.25
"""Share of the seed tasks in whose calls a word occurs, from which it is a concept."""


def concept_pool(seeds: Sequence[Task], *, common: float = COMMON) -> list[str]:
    """List the concepts of a world: words in the reference calls of several seed tasks, in alphabetical order.

    Args:
        seeds: tasks with reference searches.
        common: least share of the seed tasks with the word, above 0.

    Returns:
        Words such as "boss"; names of single tasks are none.

    Raises:
        InputError: no word is common.

    Example:
        searches "4071 boss", "9930 boss", "1204 boss", "7310 ally" of eight tasks, common 0.25 -> ["boss"]

    Paper: arXiv:2512.01311 (CuES), the concept pool of its first stage.
    Differs: words of seed tasks, where a language model reads the description of the environment.
    """
    counts = Counter(
        word
        for task in seeds
        for word in {
            word
            for call in task.metadata.get("gold_calls", ())
            for word in re.findall(r"\w+", str(call["arguments"].get("query", "")))
        }
    )
    found = sorted(word for word, count in counts.items() if count >= common * len(seeds))
    if not found:
        raise InputError(
            f"no word occurs in the searches of a share {common} of {len(seeds)} seed tasks; give other seed tasks"
        )
    return found


def curious_rollouts(
    world: World,
    env: EnvFactory,
    memory: ExplorationMemory,
    *,
    rollouts: int = 4,
    steps: int = 18,
    seeds: int = 32,
    seed: int = 0,
) -> list[Trajectory]:
    """Explore a world in several rollouts with one memory.

    Each turn searches for "NAME CONCEPT", chosen by the memory: a name of the opening or of an earlier reply, and a
    concept of `concept_pool`.

    Args:
        world: has `exploration`, and the tool search.
        env: of the world.
        memory: of all rollouts; it is changed.
        rollouts: number of them; 4 in the released code.
        steps: searches of a rollout; 18 in the released code.
        seeds: training tasks for the concepts.
        seed: of openings and choices.

    Returns:
        Trajectories of the openings, each with `steps` turns.

    Raises:
        InputError: the world has no exploration; a number below 1.

    Example:
        opening "4071?": the search "4071 boss" shows 5526; the next one may be "5526 ally", and is not "4071 boss"

    Paper: arXiv:2512.01311 (CuES), curious exploration.
    Differs: a rule explores, where a language model does.
    """
    if min(rollouts, steps, seeds) < 1:
        raise InputError(f"rollouts is {rollouts}, steps {steps} and seeds {seeds}; give 1 or more")
    exploration = world.need("exploration")
    concepts = concept_pool(world.tasks("train", seeds, derive_seed(seed, "seeds")))
    openings = exploration.openings(rollouts, derive_seed(seed, "openings"))
    return [
        demonstrate(
            env,
            task,
            _explorer(task, memory, concepts, random.Random(derive_seed(seed, "explorer", number))),
            format=Transcript(),
            id=f"explored-{number}",
            seed=derive_seed(seed, "tools", number),
            max_turns=steps,
        )
        for number, task in enumerate(openings)
    ]


def _explorer(task: Task, memory: ExplorationMemory, concepts: Sequence[str], rng: random.Random) -> Expert:
    names = dict.fromkeys(re.findall(r"\w+", task.messages[-1].content))

    def expert(task: Task, facts: Facts) -> Message:
        del task
        for text, status in zip(facts["replies"], facts["statuses"], strict=True):
            names.update(dict.fromkeys(re.findall(r"\w+", text if status == "ok" else "")))
        candidates = [f"{name} {concept}" for name in names if name not in concepts for concept in concepts]
        return Message("assistant", "", (ToolCall(SEARCH, {"query": memory.choose(candidates, rng)}),))

    return expert
