"""Study: step accuracy of a verifier with and without tools, and the best of n trajectories by its labels."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Sampling, Task, Trajectory
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.best_of import best_of_curve, best_of_figures
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.tattoo.table_steps import CELLS, TableCells, draw_cells, draw_chain, table_steps, verifier_task
from handaxe.papers.tattoo.verdicts import read_verdicts
from handaxe.rollouts.driver import run
from handaxe.rollouts.linear import linear
from handaxe.tools.calculator import calculator
from handaxe.tools.noisy import noisy
from handaxe.training.sft.cold_start import start_policy

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models.load import Policy
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["tattoo_best_of", "trajectory_score"]

COUNTS = (1, 2, 4, 8, 16)
"""Numbers of trajectories, up to the default of `most`."""
TURNS = 5
SAMPLING = Sampling(temperature=0.0, max_tokens=48)
QUERIES = [{"expression": f"{left}+{right}"} for left in range(20, 90, 5) for right in range(21, 92, 10)]
"""Calls that random results answer."""


class _Item(NamedTuple):
    """A trajectory to verify, and 1 for a correct answer."""

    task: Task
    truth: float


def tattoo_best_of(*, questions: int = 40, most: int = 16, faults: float = 0.4) -> StudyFunction:
    """Teach verifiers with tools and without, and let them choose among trajectories.

    Both start from the shipped policy of 0.85M parameters, with as many demonstrations and optimizer steps. In the
    third arm, the tools of the first verifier answer other calls.

    Figures; ARM is tools, none or random:
        steps/ARM        share of correct labels
        steps/ARM/KIND   the same for steps of retrieval, schema and reasoning
        best/ARM/N       correctness of the trajectory with the greatest score of N, see `trajectory_score`
        best/oracle/N, best/mean    that of a perfect verifier, and of a random trajectory
        gain/steps       steps of tools less those of none, with /low and /high of the 95 % interval over questions
        gain/best        the same for best of `most`
        random/none      steps of random less those of none, with the interval
        rise             best/tools at `most` less at half of it, with the interval
        calls            share of verifications with a call, of the verifier with tools

    Args:
        questions: held-out questions.
        most: trajectories of a question.
        faults: probability of an incorrect step.

    Example:
        best 0.9 with tools and 0.5 without  ->  gain/best 0.4

    Paper: arXiv:2510.06217 (TaTToo), best-of-n with verifiers with and without tools.
    Differs: trajectories are written by rule; verifiers are trained by supervised fine-tuning alone.
    """

    def measure(seed: int) -> dict[str, float]:
        items = _items(questions, most, faults, seed)
        worlds = {"tools": table_steps(terse=0.0), "none": table_steps(offer="none")}
        policies = {name: start_policy(world, seed=seed) for name, world in worlds.items()}
        played = {name: _verify(policies[name], world.env(world.tools), items) for name, world in worlds.items()}
        played["random"] = _verify(policies["tools"], _random_env, items)
        return _figures(played, items, most)

    return measure


def trajectory_score(verification: Trajectory) -> float:
    """Mean of the labels of a trajectory's steps; a missing label counts as -1.

        r = 1 / L sum_i r_i,   r_i in {-1, 1}

    Example:
        labels 1, -1, 1  ->  0.3333

    Paper: arXiv:2510.06217 (TaTToo), the score of a trajectory.
    Differs: nothing.
    """
    return float(np.mean([-1 if one is None else one.label for one in read_verdicts(verification)]))


def _items(questions: int, most: int, faults: float, seed: int) -> list[list[_Item]]:
    return [_question(number, most, faults, seed) for number in range(questions)]


def _question(number: int, most: int, faults: float, seed: int) -> list[_Item]:
    rng = random.Random(derive_seed("tattoo_best_of", seed, number))
    cells = draw_cells(rng, "test")
    asked = rng.sample(CELLS, 3)
    answer = str(sum(cells[cell] for cell in asked))
    found = []
    for k in range(most):
        steps = draw_chain(rng, cells, asked, faults=faults)
        task = verifier_task(f"tattoo-{seed}-{number}-{k}", cells, asked, steps)
        found.append(_Item(task, float(steps[-1].claim == answer)))
    return found


def _random_env(task: Task) -> Env:
    """Tools whose results belong to other calls."""
    cells = dict(task.metadata["cells"])
    names = list(cells)
    shifted = {name: cells[names[(place + 1) % len(names)]] for place, name in enumerate(names)}
    lying = noisy(calculator, chance=1.0, queries=QUERIES)
    return tool_chat([lambda: TableCells(shifted), lying])(task)


def _verify(policy: Policy, env: EnvFactory, items: Sequence[Sequence[_Item]]) -> list[list[Trajectory]]:
    engine = local.LocalEngine(policy.model)
    attempts = [
        Attempt(
            task=one.task,
            env=env,
            format=policy.format,
            sampling=SAMPLING,
            id=one.task.id,
            sample=0,
            seed=derive_seed(one.task.id),
            context=engine.max_length,
        )
        for own in items
        for one in own
    ]
    played = [found for (found,) in run(attempts, linear(max_turns=TURNS), engine, workers=1, lockstep=True)]
    most = len(items[0])
    return [played[i : i + most] for i in range(0, len(played), most)]


def _right(one: Trajectory, kind: str = "") -> list[float]:
    """1 for each correct label of a kind of step."""
    given = zip(read_verdicts(one), one.task.metadata["labels"], one.task.metadata["steps"])
    return [
        float(verdict is not None and verdict.label == label)
        for verdict, label, step in given
        if kind in ("", step["kind"])
    ]


def _figures(
    played: dict[str, list[list[Trajectory]]], items: Sequence[Sequence[_Item]], most: int
) -> dict[str, float]:
    figures = dict[str, float]()
    truth = [np.array([one.truth for one in own]) for own in items]
    right = dict[str, np.ndarray]()
    curves = dict[str, np.ndarray]()
    for name, found in played.items():
        right[name] = np.array([np.mean([_right(one) for one in own]) for own in found])
        figures[f"steps/{name}"] = float(right[name].mean())
        for kind in ("retrieval", "schema", "reasoning"):
            figures[f"steps/{name}/{kind}"] = float(np.mean([_right(one, kind) for own in found for one in own]))
        scores = [np.array([trajectory_score(one) for one in own]) for own in found]
        pairs = list(zip(scores, truth, strict=True))
        curve = best_of_figures(pairs, most=most)
        curves[name] = np.array([[best_of_curve(*pair)[n - 1] for n in (most // 2, most)] for pair in pairs])
        for n in [count for count in COUNTS if count <= most]:
            figures |= {
                f"best/{name}/{n}": curve["judge"][n - 1].value,
                f"best/oracle/{n}": curve["oracle"][n - 1].value,
            }
        figures["best/mean"] = curve["mean"][0].value
    figures |= interval_figures("gain/steps", right["tools"] - right["none"])
    figures |= interval_figures("random/none", right["random"] - right["none"])
    figures |= interval_figures("gain/best", curves["tools"][:, 1] - curves["none"][:, 1])
    figures |= interval_figures("rise", curves["tools"][:, 1] - curves["tools"][:, 0])
    figures["calls"] = float(np.mean([bool(one.calls) for own in played["tools"] for one in own]))
    return dict(sorted(figures.items()))
