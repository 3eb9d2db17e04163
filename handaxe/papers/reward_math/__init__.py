"""RewardMATH (arXiv:2410.01729): a correct solution against nine incorrect solutions predicts best-of-n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from handaxe.core.records import Sampling
from handaxe.evaluation.agreement_stats import resampled_figure
from handaxe.evaluation.best_of import best_of_curve
from handaxe.evaluation.reward_model_family import FamilyMember, start_family
from handaxe.methods.method import StudyFunction
from handaxe.ops.aggregates import AGGREGATES, Aggregate
from handaxe.ops.pearson import pearson
from handaxe.papers.reward_math.set_figures import beats_all, reciprocal_rank
from handaxe.papers.reward_math.solution_sets import SolutionSet, solution_sets
from handaxe.worlds.fact_chains import fact_chains, judged_labels

__all__ = ["reward_math"]

HOT = Sampling(temperature=1.25, max_tokens=48)
CHOICES: tuple[Aggregate, ...] = ("min", "max", "mean", "last", "prod", "geometric", "mean_logit", "mean_odds")
MEASURES = ("many", "mrr", "one", "bon")


def reward_math(
    *, series: int = 2, labelled: int = 72, siblings: int = 4, tasks: int = 24, samples: int = 12
) -> StudyFunction:
    """Measure reward models on sets and on pairs of solutions, and correlate both with best-of-n.

    The judges are outcome and process reward models after a twelfth, a third and all of the labelled groups.

    Figures; JUDGE is a name such as prm-32-0:
        many/JUDGE, mrr/JUDGE   accuracy and mean reciprocal rank on a correct and nine incorrect solutions
        one/JUDGE               accuracy on a correct and an incorrect solution, with a cue of style
        bon/JUDGE               correctness of the best of n stored rollouts of the policy; n is `samples`
        many, one, bon          means over the judges; bon/random: correctness of a random rollout
        r2/many, r2/mrr, r2/one squared correlation with bon over the judges
        r2/gain                 r2/many less r2/one, with /low and /high of the 95 % interval over resampled judges
        r2/drop                 squared correlation of many with the fall of the best-of-n curve after the maximum
        gap                     one less many
        many/AGGREGATE          accuracy on sets, mean over process models, by aggregate of step probabilities; process
                                models have the minimum elsewhere

    Args:
        series: seeds of judges; each has six.
        labelled: labelled groups of a series.
        siblings: labelled rollouts of a task.
        tasks: held-out tasks.
        samples: stored rollouts of a held-out task.

    Example:
        many 0.1, 0.5, 0.9 and bon 0.4, 0.6, 0.8 of three judges  ->  r2/many 1

    Paper: arXiv:2410.01729 (RewardMATH), correlation with the accuracy of optimized policies.
    Differs: the optimization is best-of-n alone; policy, judges and problems are small.
    """

    def measure(seed: int) -> dict[str, float]:
        world = fact_chains()
        play, members = start_family(
            world,
            labels=judged_labels,
            salt="reward_math",
            seed=seed,
            series=series,
            labelled=labelled,
            siblings=siblings,
        )
        stored = play(split="test", tasks=tasks, siblings=samples, seed=seed)
        hot = play(split="test", tasks=tasks, siblings=siblings, seed=seed, sampling=HOT)
        by_task = {one.group.task.id: one for one in hot}
        stored = [one for one in stored if one.group.task.id in by_task]
        sets = solution_sets(world, stored, [by_task[one.group.task.id] for one in stored], seed=seed)
        found = dict[str, Mapping[str, float]]()
        for member in members:
            curve = np.mean([best_of_curve(member.score(one.group), one.scores.outcome) for one in stored], axis=0)
            found[member.name] = {**_set_figures(member, sets), "bon": float(curve[-1]), "drop": _drop(curve)}
        random = float(np.mean([one.scores.outcome.mean() for one in stored]))
        return {**_figures(found), "bon/random": random, "sets": float(len(sets))}

    return measure


def _set_figures(member: FamilyMember, sets: Sequence[SolutionSet]) -> dict[str, float]:
    many = [member.score(one.many) for one in sets]
    pairs = [member.score(one.pair) for one in sets]
    figures = {
        "many": float(beats_all(many).mean()),
        "mrr": float(reciprocal_rank(many).mean()),
        "one": float(beats_all(pairs).mean()),
    }
    if member.name.startswith("prm"):
        steps = [member.judge.score_steps(one.many) for one in sets]
        for name in CHOICES:
            scores = [np.array([AGGREGATES[name](own_N) for own_N in own]) for own in steps]
            figures[name] = float(beats_all(scores).mean())
    return figures


def _drop(curve_N: np.ndarray) -> float:
    """Fall of a best-of-n curve after the maximum: 0 for a rising curve."""
    return float(curve_N.max() - curve_N[-1])


def _figures(found: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    columns = {name: np.array([own[name] for own in found.values()]) for name in (*MEASURES, "drop")}
    figures = {f"{name}/{judge}": own[name] for judge, own in found.items() for name in MEASURES}
    figures |= {name: float(columns[name].mean()) for name in ("many", "one", "bon")}
    figures |= {f"r2/{name}": pearson(columns[name], columns["bon"]) ** 2 for name in ("many", "mrr", "one")}
    figures["r2/drop"] = pearson(columns["many"], columns["drop"]) ** 2
    figures["gap"] = figures["one"] - figures["many"]
    process = [own for own in found.values() if "min" in own]
    figures |= {f"many/{name}": float(np.mean([own[name] for own in process])) for name in CHOICES}
    return figures | _gain(columns)


def _gain(columns: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Difference of both squared correlations, with the interval over resampled judges."""

    def gain(index_J: np.ndarray) -> float:
        many, one, bon = (columns[name][index_J] for name in ("many", "one", "bon"))
        return pearson(many, bon) ** 2 - pearson(one, bon) ** 2

    figure = resampled_figure(gain, len(columns["bon"]), salt="reward_math judges")
    return {"r2/gain": figure.value, "r2/gain/low": figure.low, "r2/gain/high": figure.high}
