"""Reasoning Language Models: A Blueprint (arXiv:2501.11223): search with learned values against greedy decoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe import rollouts
from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import Rollout
from handaxe.core.records import Sampling, Scores, Task
from handaxe.judges.reward_model import RewardModel
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.rlm_blueprint.known_ends import known_ends
from handaxe.papers.rlm_blueprint.search_figures import advantage_gaps, right_answers, separation
from handaxe.papers.rlm_blueprint.search_values import search_targets
from handaxe.papers.rlm_blueprint.x1_search import q_model, x1_search
from handaxe.rollouts.search.play_search import Played, SearchPlayer
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.worked_steps import worked_steps
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["rlm_blueprint"]

TURNS = 8
TEMPERATURE = 0.7
"""Temperature of sampled steps in the released code."""
SINGLE = rollouts.linear(max_turns=TURNS)


def rlm_blueprint(
    *,
    tasks: int = 6,
    seeds: int = 8,
    tokens: int = 200,
    trees: int = 28,
    second: int = 12,
    iterations: int = 6,
    max_tokens: int = 24,
) -> StudyFunction:
    """Train values in two phases, and measure searches with the cold-start checkpoint of `worked_steps`.

        phase 1   trees of training tasks with known answers, q by simulations alone --search_targets--> value model
        phase 2   trees with known answers, q by value model and simulations         --search_targets--> value model
        test      `x1_search` with the value model of phase 2, without answers

    Figures, means; /low and /high are the ends of a 95 % interval over seeds, of advantage_gap over trees:
        solved/SEARCH, tokens/SEARCH    share of held-out tasks with a correct answer, and sampled tokens of a task
        gain/SEARCH                     solved by x1_search less solved by the search: greedy decoding, one sample, and
                                        best_of, rollouts with as many tokens and the same value model
        separation/phase_1, /phase_2    `separation` of held-out rollouts by the value model after a phase
        separation/gain                 phase 2 less phase 1
        advantage_gap                   mean advantage of a tree's correct turns, less that of its incorrect ones
        targets                         number of value targets of phase 1

    Args:
        tasks: held-out tasks of a seed.
        seeds: of held-out tasks and searches, from the study's seed on.
        tokens: most sampled tokens of x1_search and of best_of.
        trees: tasks of phase 1.
        second: tasks of phase 2.
        iterations: expansions of a tree of a phase.
        max_tokens: of a turn.

    Example:
        x1_search solves 0.4 of the tasks, greedy decoding 0.3  ->  gain/greedy 0.1
    """

    def measure(seed: int) -> dict[str, float]:
        world = worked_steps()
        policy = start_policy(world)
        engine = local.LocalEngine(policy.model)
        sampling = Sampling(temperature=TEMPERATURE, max_tokens=max_tokens)
        play = SearchPlayer(world.env(world.tools), engine, policy.format, sampling)
        held_out = [(own, task) for own in range(seed, seed + seeds) for task in world.tasks("test", tasks, own)]
        unseen = play(SINGLE, [(derive_seed(own, "unseen"), task) for own, task in held_out], samples=4)
        value = q_model()
        value.begin(engine)

        grown = play(_taught(world, None, iterations, 1.0), _training(world, trees, seed, "first"))
        targets = _fit(value, grown)
        first_S = separation(world, value, unseen, seeds)
        _fit(value, play(_taught(world, value, iterations, 0.5), _training(world, second, seed, "second")))
        second_S = separation(world, value, unseen, seeds)
        columns = {
            "separation/phase_1": first_S,
            "separation/phase_2": second_S,
            "separation/gain": second_S - first_S,
            "advantage_gap": advantage_gaps(world, grown),
        }
        for name, (strategy, temperature) in _searches(value, tokens).items():
            found = play(strategy, held_out, temperature=temperature)
            spent = np.array([float(one.tokens) for one in found])
            columns[f"solved/{name}"] = right_answers(world, found).reshape(seeds, tasks).mean(axis=1)
            columns[f"tokens/{name}"] = spent.reshape(seeds, tasks).mean(axis=1)
            columns[f"gain/{name}"] = columns["solved/x1"] - columns[f"solved/{name}"]
        del columns["gain/x1"]
        return {"targets": targets, **_figures(columns)}

    return measure


def _taught(world: World, value: RewardModel | None, iterations: int, alpha: float) -> Rollout:
    """Search with known answers."""
    known = known_ends(outcome=world.correct, judge=value)
    return x1_search(judge=known, max_turns=TURNS, iterations=iterations, alpha=alpha)


def _searches(value: RewardModel, tokens: int) -> dict[str, tuple[Rollout, float | None]]:
    """Compared searches with another temperature, if any; `x1` is the first."""
    return {
        "x1": (x1_search(judge=value, max_turns=TURNS, tokens=tokens), None),
        "greedy": (SINGLE, 0.0),
        "sample": (SINGLE, None),
        "best_of": (rollouts.search.best_of(judge=value, tokens=tokens, max_turns=TURNS), None),
    }


def _training(world: World, count: int, seed: int, name: str) -> list[tuple[int, Task]]:
    own = derive_seed(seed, name)
    return [(own, task) for task in world.tasks("train", count, own)]


def _fit(value: RewardModel, found: Sequence[Played]) -> float:
    """Fit the value model to the values of trees; returns the number of targets."""
    targets = [search_targets(one.group) for one in found]
    scores = [Scores(np.zeros(len(one.group)), turns=own) for one, own in zip(found, targets, strict=True)]
    value.fit([(one.group, own) for one, own in zip(found, scores, strict=True)])
    return float(sum(np.isfinite(turns).sum() for own in targets for turns in own))


def _figures(columns: dict[str, np.ndarray]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, values in columns.items():
        figures |= interval_figures(name, values)
    return dict(sorted(figures.items()))
