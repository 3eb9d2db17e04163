"""Study: MCTS* against best-of-N and step-wise greedy search at equal tokens, with a value model of two rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe import rollouts
from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import Rollout
from handaxe.core.records import Sampling, Task
from handaxe.judges.reward_model import RewardModel
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.rest_mcts.mcts_star import TEMPERATURE, mcts_star, value_model
from handaxe.papers.rest_mcts.tree_pool import value_errors, value_targets
from handaxe.rollouts.search.play_search import Played, SearchPlayer
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.worked_steps import worked_steps
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["rest_mcts_search"]

TURNS = 8
GATE = 0.9


def rest_mcts_search(
    *,
    tasks: int = 6,
    seeds: int = 8,
    tokens: int = 200,
    samples: int = 4,
    training: int = 48,
    trees: int = 16,
    max_tokens: int = 24,
) -> StudyFunction:
    """Measure searches with the cold-start checkpoint of `worked_steps` on held-out tasks.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        solved/SEARCH, tokens/SEARCH    share of tasks with a correct answer, and sampled tokens of a task
        rate/SEARCH                     solved tasks per 1,000 sampled tokens
        gain/SEARCH, rate_gain/SEARCH   solved and rate of MCTS* less those of the search
        error/first, error/second       mean squared error of the value model at held-out rollouts: fitted to
                                        rollouts, and then to trees of MCTS* as well
        error_fall                      first less second

    Searches: mcts and best_of with the same most tokens, value model and end gate; greedy, the best of several next
    turns by the value model; single, one rollout; decoding, one rollout at temperature 0.

    Args:
        tasks: held-out tasks of a seed.
        seeds: of held-out tasks and searches, from the study's seed on.
        tokens: most sampled tokens of MCTS* and of best-of-N.
        samples: next turns of a step of greedy search, which has no number of tokens; rollouts of a task for the value
            model.
        training: tasks of the first value model.
        trees: tasks of the second one.
        max_tokens: of a turn.

    Example:
        MCTS* solves 0.5 with 160 tokens, best-of-N 0.4 with 200  ->  gain 0.1, rate_gain 3.125 - 2 = 1.125

    Paper: arXiv:2406.03816 (ReST-MCTS*), comparison of searches at equal budgets.
    Differs: numbers of tokens are equal; sums of a byte policy replace mathematical questions.
    """

    def measure(seed: int) -> dict[str, float]:
        world = worked_steps()
        policy = start_policy(world)
        engine = local.LocalEngine(policy.model)
        sampling = Sampling(temperature=TEMPERATURE, max_tokens=max_tokens)
        play = SearchPlayer(world.env(world.tools), engine, policy.format, sampling)
        single = rollouts.linear(max_turns=TURNS)
        held_out = [(own, task) for own in range(seed, seed + seeds) for task in world.tasks("test", tasks, own)]
        unseen = play(single, [(derive_seed(own, "unseen"), task) for own, task in held_out], samples=samples)
        value = value_model()
        value.begin(engine)
        columns: dict[str, np.ndarray] = {}
        _fit(value, world, play(single, _training(world, training, seed, "first"), samples=samples))
        columns["error/first"] = _error(value, world, unseen, seeds)
        grow = mcts_star(judge=value, tokens=tokens, max_turns=TURNS)
        _fit(value, world, play(grow, _training(world, trees, seed, "second")))
        columns["error/second"] = _error(value, world, unseen, seeds)
        for name, search in _searches(value, tokens, samples).items():
            found = play(search, held_out, temperature=0.0 if name == "decoding" else None)
            right = np.array([_right(world, one) for one in found])
            spent = np.array([float(one.tokens) for one in found])
            columns[f"solved/{name}"] = right.reshape(seeds, tasks).mean(axis=1)
            columns[f"tokens/{name}"] = spent.reshape(seeds, tasks).mean(axis=1)
        return _figures(columns)

    return measure


def _searches(value: RewardModel, tokens: int, samples: int) -> dict[str, Rollout]:
    return {
        "mcts": mcts_star(judge=value, tokens=tokens, max_turns=TURNS, gate=GATE),
        "best_of": rollouts.search.best_of(judge=value, tokens=tokens, gate=GATE, max_turns=TURNS),
        "greedy": rollouts.search.best_step(judge=value, samples=samples, max_turns=TURNS),
        "single": rollouts.linear(max_turns=TURNS),
        "decoding": rollouts.linear(max_turns=TURNS),
    }


def _training(world: World, count: int, seed: int, name: str) -> list[tuple[int, Task]]:
    own = derive_seed(seed, name)
    return [(own, task) for task in world.tasks("train", count, own)]


def _outcomes(world: World, one: Played) -> np.ndarray:
    outcome_G: np.ndarray = world.correct(one.group).outcome
    return outcome_G


def _right(world: World, one: Played) -> float:
    return float(one.answer is not None and _outcomes(world, one)[one.answer] > 0.5)


def _fit(value: RewardModel, world: World, found: Sequence[Played]) -> None:
    value.fit([(one.group, value_targets(one.group, _outcomes(world, one))) for one in found])


def _error(value: RewardModel, world: World, found: Sequence[Played], seeds: int) -> np.ndarray:
    """[seeds] mean over tasks of the mean squared error at labelled turns; NaN without a correct rollout."""
    errors = [value_errors(one.group, _outcomes(world, one), value) for one in found]
    size = len(found) // seeds
    means = []
    for k in range(0, size * seeds, size):
        known = [float(np.mean(own**2)) for own in errors[k : k + size] if len(own)]
        means.append(sum(known) / len(known) if known else float("nan"))
    return np.array(means)


def _figures(columns: dict[str, np.ndarray]) -> dict[str, float]:
    """Means over seeds with intervals; each column is [seeds]."""
    found = dict(columns)
    names = [name.removeprefix("solved/") for name in columns if name.startswith("solved/")]
    for name in names:
        found[f"rate/{name}"] = 1000 * columns[f"solved/{name}"] / columns[f"tokens/{name}"]
    for name in names:
        if name != "mcts":
            found[f"gain/{name}"] = found["solved/mcts"] - found[f"solved/{name}"]
            found[f"rate_gain/{name}"] = found["rate/mcts"] - found[f"rate/{name}"]
    found["error_fall"] = columns["error/first"] - columns["error/second"]
    figures: dict[str, float] = {}
    for name, own_S in found.items():
        figures |= interval_figures(name, own_S)
    return dict(sorted(figures.items()))
