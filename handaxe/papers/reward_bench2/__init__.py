"""RewardBench 2 (arXiv:2506.01937): best-of-four accuracy and a score of ties, correlated with best-of-n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from handaxe.core.records import Group
from handaxe.evaluation.agreement_stats import resampled_figure
from handaxe.evaluation.best_of import best_of_curve
from handaxe.evaluation.reward_model_family import FamilyMember, start_family
from handaxe.evaluation.tie_scores import tie_figures, tie_sums
from handaxe.methods.method import StudyFunction
from handaxe.ops.pearson import pearson
from handaxe.ops.seeds import derive_seed
from handaxe.papers.reward_bench2.bench_domains import DOMAINS, TiedPrompts, best_of_four, tied_prompts
from handaxe.worlds.fact_chains import fact_chains, judged_labels

__all__ = ["reward_bench2"]

COLUMNS = (*DOMAINS, "ties")


def reward_bench2(
    *, series: int = 2, labelled: int = 72, siblings: int = 4, tasks: int = 24, samples: int = 12
) -> StudyFunction:
    """Score reward models in six domains, and correlate the mean with best-of-n on rollouts of the policy.

    The judges are outcome and process reward models after a twelfth, a third and all of the labelled groups.

    Figures; JUDGE is a name such as prm-32-0, DOMAIN one of math, evidence, calls, focus, format and ties:
        DOMAIN/JUDGE    accuracy of the best of four, a tie of k is 1 / k; the ties score in the domain ties
        mean/JUDGE      unweighted mean of the six domains
        bon/JUDGE       correctness of the best of n stored rollouts; n is `samples`
        DOMAIN, mean, bon    means over the judges; bon/random: correctness of a random rollout
        r/DOMAIN, r/mean     correlation with bon over the judges; r/mean/low and /high are the ends of the 95 %
                        interval over resampled judges
        r/mean_ties     r/mean less r/ties

    Args:
        series: seeds of judges; each has six.
        labelled: labelled groups of a series.
        siblings: labelled rollouts of a task.
        tasks: prompts of a domain, and held-out tasks of best-of-n.
        samples: stored rollouts of a held-out task.

    Example:
        means 0.3, 0.5, 0.7 and bon 0.4, 0.5, 0.6 of three judges  ->  r/mean 1

    Paper: arXiv:2506.01937 (RewardBench 2), the score, and its correlation with best-of-n.
    Differs: generated domains of one world, and small judges; no policy is trained against a judge.
    """

    def measure(seed: int) -> dict[str, float]:
        world = fact_chains()
        play, members = start_family(
            world,
            labels=judged_labels,
            salt="reward_bench2",
            seed=seed,
            series=series,
            labelled=labelled,
            siblings=siblings,
        )
        stored = play(split="test", tasks=tasks, siblings=samples, seed=seed)
        prompts = world.tasks("test", tasks, derive_seed("reward_bench2 prompts", seed) % 2**31)
        four = {name: best_of_four(world, prompts, domain=name, seed=seed) for name in DOMAINS}
        ties = tied_prompts(world, prompts, seed=seed)
        found = dict[str, Mapping[str, float]]()
        for member in members:
            own = {name: _best(member, groups) for name, groups in four.items()}
            own["ties"] = _ties(member, ties)
            bon = [best_of_curve(member.score(one.group), one.scores.outcome)[-1] for one in stored]
            found[member.name] = {**own, "bon": float(np.mean(bon))}
        random = float(np.mean([one.scores.outcome.mean() for one in stored]))
        return {**_figures(found), "bon/random": random, "prompts": float(sum(map(len, four.values())) + len(ties))}

    return measure


def _best(member: FamilyMember, groups: Sequence[Group]) -> float:
    """Accuracy of the best of four; the first rollout of a group is correct."""
    truth_G = np.array([1.0, 0.0, 0.0, 0.0])
    return float(np.mean([best_of_curve(member.score(one), truth_G)[-1] for one in groups]))


def _ties(member: FamilyMember, prompts: Sequence[TiedPrompts]) -> float:
    """The ties score of all prompts."""
    rows = []
    for one in prompts:
        scores = np.concatenate([member.score(one.tied), member.score(one.reference)])
        tied, reference = (np.arange(len(own)) < right for own, right in ((one.tied, one.correct), (one.reference, 1)))
        rows.append(tie_sums(scores, np.concatenate([tied, reference])))
    return float(tie_figures({name: np.sum([row[name] for row in rows], axis=0) for name in rows[0]})["ties"])


def _figures(found: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    columns = {name: np.array([own[name] for own in found.values()]) for name in (*COLUMNS, "bon")}
    columns["mean"] = np.mean([columns[name] for name in COLUMNS], axis=0)
    figures = dict[str, float]()
    for place, judge in enumerate(found):
        figures |= {f"{name}/{judge}": float(own_J[place]) for name, own_J in columns.items()}
    figures |= {name: float(own_J.mean()) for name, own_J in columns.items()}
    figures |= {f"r/{name}": pearson(columns[name], columns["bon"]) for name in (*COLUMNS, "mean")}
    mean_J, bon_J = columns["mean"], columns["bon"]
    figure = resampled_figure(lambda own: pearson(mean_J[own], bon_J[own]), len(found), salt="reward_bench2 judges")
    figures["r/mean_ties"] = figures["r/mean"] - figures["r/ties"]
    return figures | {"r/mean/low": figure.low, "r/mean/high": figure.high}
