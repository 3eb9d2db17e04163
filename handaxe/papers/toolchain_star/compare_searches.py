"""Success of searches at equal numbers of executed calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from handaxe import rollouts
from handaxe.core.protocols import ChatFormat, Engine, Rollout, RolloutPlan
from handaxe.core.records import STOPPED, Ending, Group, Sampling, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import derive_seed
from handaxe.papers.toolchain_star.call_meter import CallMeter, call_meter
from handaxe.papers.toolchain_star.frontier_search import ANSWER, Order, frontier_search
from handaxe.papers.toolchain_star.guides import likelihood_guide, plan_guide
from handaxe.papers.toolchain_star.plan_costs import memory_match, plan_costs
from handaxe.papers.toolchain_star.plan_steps import Plan, plan_steps
from handaxe.rewards.outcome import outcome
from handaxe.rollouts import driver
from handaxe.worlds.world import World

__all__ = ["Search", "Searched", "compare_searches", "make_searches", "plan_search", "play_search", "repeated"]

COMPLETED = Ending("completed")
Choose = Callable[[Sequence[Trajectory]], Trajectory | None]


class Search(NamedTuple):
    """A strategy, the choice of an answer among the returned trajectories, and the temperature."""

    rollout: Rollout
    choose: Choose
    temperature: float = 1.0


class Searched(NamedTuple):
    """Chosen trajectory of a search, None without an answer; whether it is correct; and calls and turns of the task."""

    chosen: Trajectory | None
    correct: bool
    used: CallMeter


def repeated(*, most: int, max_turns: int) -> Rollout:
    """Play up to `most` independent rollouts of a task in sequence, until a budget stops a rollout.

    Example:
        call_meter(repeated(most=9, max_turns=4), calls=8, ...) plays four rollouts of two calls

    Idea: repeated sampling with a vote is the baseline of every search at equal use.
    """
    one = rollouts.linear(max_turns=max_turns)

    def rollout(attempt: Attempt) -> RolloutPlan:
        found: list[Trajectory] = []
        for n in range(most):
            seed = derive_seed(attempt.seed, "repeated", n)
            found += yield from one(replace(attempt, id=f"{attempt.id}/{n}", seed=seed))
            if found[-1].ending == STOPPED:
                break
        return found

    return rollout


def plan_search(memory: Sequence[Plan], *, candidates: int, calls: int, max_turns: int, weight: float = 0.5) -> Search:
    """Make the search of ToolChain*: best-first, by costs from a memory of plans and from the policy.

    Args:
        memory: complete plans.
        candidates: samples of an expansion.
        calls: budget of a rollout.
        max_turns: of a trajectory.
        weight: alpha and beta of `plan_costs`; 1 leaves the policy's own scores out.

    Example:
        compare_searches({"astar": plan_search(memory, candidates=4, calls=12, max_turns=7)}, ...)

    Paper: arXiv:2310.13227 (ToolChain*), A* over the tree of calls.
    Differs: see `plan_costs`.
    """
    guide = plan_guide(plan_costs(memory, alpha=weight, beta=weight), max_turns=max_turns)
    search = frontier_search(guide=guide, candidates=candidates, calls=calls, max_turns=max_turns)
    return Search(search, _noted)


def make_searches(
    memory: Sequence[Plan], *, candidates: int, calls: int, width: int, max_turns: int
) -> dict[str, Search]:
    """Make the compared searches.

        greedy          one rollout at temperature 0
        vote            independent rollouts, the most frequent answer
        beam            by likelihood, `width` steps a depth
        depth           depth-first by likelihood
        mcts            Monte-Carlo tree search; a complete plan counts 1 if it matches the memory (g1 = 1), else -1
        astar           ToolChain*
        memory          ToolChain* without the policy's own scores: alpha = beta = 1

    Args:
        memory: complete plans.
        candidates: samples of an expansion, of all searches with expansions.
        calls: budget of a rollout.
        width: of the beam.
        max_turns: of a trajectory.
    """

    def likely(order: Order, width: int | None = None) -> Search:
        search = frontier_search(
            guide=likelihood_guide(), candidates=candidates, calls=calls, order=order, width=width, max_turns=max_turns
        )
        return Search(search, _noted)

    def planned(weight: float) -> Search:
        return plan_search(memory, candidates=candidates, calls=calls, max_turns=max_turns, weight=weight)

    def match(one: Trajectory) -> float:
        return float(one.ending == COMPLETED) * memory_match(plan_steps(one), memory)

    tree = rollouts.search.mcts(
        outcome=outcome(match), simulations=calls, negatives=0, children=candidates, above=0.999, max_turns=max_turns
    )
    return {
        "greedy": Search(rollouts.linear(max_turns=max_turns), _first, 0.0),
        "vote": Search(repeated(most=calls, max_turns=max_turns), _most_frequent),
        "beam": likely("breadth", width),
        "depth": likely("depth"),
        "mcts": Search(tree, lambda found: max(_completed(found), key=match, default=None)),
        "astar": planned(0.5),
        "memory": planned(1.0),
    }


def compare_searches(
    searches: Mapping[str, Search],
    *,
    world: World,
    engine: Engine,
    format: ChatFormat,
    seeds: Sequence[int],
    count: int,
    calls: int,
    max_tokens: int,
) -> dict[str, dict[str, np.ndarray]]:
    """Play every task once by every search, with the same budget of executed calls.

    Args:
        searches: by name.
        world: of the tasks; its rule decides correctness. No search sees an answer.
        engine, format: the policy.
        seeds: S seeds of held-out tasks and rollouts, the same for all searches.
        count: tasks of a seed.
        calls: budget of a task, over all branches, exact.
        max_tokens: of a turn.

    Returns:
        Search -> figures [S], a value a seed: "pass@1", share of tasks with a correct answer; "answered", share with an
        answer; "calls" and "turns", means of executed calls and sampled turns of a task; "most_calls", maximum.

    Example:
        compare_searches(make_searches(memory, ...), ...)["astar"]["pass@1"].mean()

    Paper: arXiv:2310.13227 (ToolChain*), success and efficiency of searches.
    Differs: equal budgets of executed calls; the paper reports seconds.
    """
    tasks = [(seed, task) for seed in seeds for task in world.tasks("test", count, seed)]
    found = dict[str, dict[str, np.ndarray]]()
    for name, search in searches.items():
        played = play_search(
            search, tasks, world=world, engine=engine, format=format, calls=calls, max_tokens=max_tokens
        )
        columns = {
            "pass@1": [one.correct for one in played],
            "answered": [one.chosen is not None for one in played],
            "calls": [one.used.calls for one in played],
            "turns": [one.used.turns for one in played],
        }
        shaped = {key: np.array(own, np.float64).reshape(len(seeds), count) for key, own in columns.items()}
        found[name] = {key: own_SN.mean(axis=1) for key, own_SN in shaped.items()}
        found[name]["most_calls"] = shaped["calls"].max(axis=1)
    return found


def play_search(
    search: Search,
    tasks: Sequence[tuple[int, Task]],
    *,
    world: World,
    engine: Engine,
    format: ChatFormat,
    calls: int,
    max_tokens: int,
) -> list[Searched]:
    """Play tasks by a search, within a budget of executed calls each.

    Args:
        search: strategy and choice.
        tasks: seed of the rollout, and task.
        world, engine, format, calls, max_tokens: as of `compare_searches`.

    Example:
        a search that ends without an answer  ->  Searched(None, False, ...)

    Paper: arXiv:2310.13227 (ToolChain*), a search a task.
    Differs: nothing known.
    """
    meters, env = dict[str, CallMeter](), world.env(world.tools)
    sampling = Sampling(temperature=search.temperature, max_tokens=max_tokens)
    attempts = [
        Attempt(task, env, format, sampling, f"{task.id}/0", 0, derive_seed(seed, task.id), engine.max_length)
        for seed, task in tasks
    ]
    metered = call_meter(search.rollout, calls=calls, meters=meters)
    chosen = map(search.choose, driver.run(attempts, metered, engine, workers=1, lockstep=True))
    return [
        Searched(one, one is not None and bool(world.correct(Group(one.task, (one,))).outcome[0] > 0.5), meters[own.id])
        for one, own in zip(chosen, attempts, strict=True)
    ]


def _completed(found: Sequence[Trajectory]) -> list[Trajectory]:
    return [one for one in found if one.ending == COMPLETED]


def _first(found: Sequence[Trajectory]) -> Trajectory | None:
    return next(iter(_completed(found)), None)


def _noted(found: Sequence[Trajectory]) -> Trajectory | None:
    return next((one for one in found if one.notes.get(ANSWER)), None)


def _most_frequent(found: Sequence[Trajectory]) -> Trajectory | None:
    """First of the most frequent answers."""
    counts = Counter(one.final_text.strip() for one in _completed(found))
    return max(_completed(found), key=lambda one: counts[one.final_text.strip()], default=None)
