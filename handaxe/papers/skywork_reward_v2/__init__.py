"""Skywork-Reward-V2 (arXiv:2507.01352): curation of pairs by verified pairs, two labellers and two models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from handaxe import judges
from handaxe.core.records import Pair, Trajectory
from handaxe.evaluation.policy_rollouts import HELD_OUT, policy_rollouts
from handaxe.evaluation.rank_figures import judge_figures
from handaxe.judges.feature_net import FeatureNet
from handaxe.judges.labelled_groups import with_zero_credit
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import generator
from handaxe.ops.stats import column_figures
from handaxe.papers.skywork_reward_v2.curation import curate, filter_pairs
from handaxe.papers.skywork_reward_v2.end_states import end_states
from handaxe.papers.skywork_reward_v2.labellers import agreeing_labellers, wild_order
from handaxe.selection.pairs.ordered import ordered
from handaxe.worlds.arithmetic import arithmetic

__all__ = ["skywork_reward_v2"]

MODELS = ("raw", "gold", "silver", "agreed", "curated", "clean")
GAINS = {f"gain/{name}": ("pair/curated", f"pair/{name}") for name in MODELS if name != "curated"}


def skywork_reward_v2(
    *,
    seeds: int = 8,
    tasks: int = 90,
    samples: int = 6,
    held_out: int = 40,
    verified: int = 24,
    first: int = 24,
    rounds: int = 4,
    wild_error: float = 0.3,
    label_error: float = 0.3,
) -> StudyFunction:
    """Curate preference pairs of rollouts of the packaged policy in `arithmetic`, and fit reward models on each part.

    A reward model is a linear head on frozen states of the policy at the end of a rollout. The rollouts are drawn once;
    seeds draw verified pairs, first pairs, wrong orders and labels.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        pair/MODEL         share of held-out pairs of a correct and a wrong answer in the order of the scores
        best/MODEL         share of tasks with a correct answer of the greatest score;  best/random of a random one
        gain/MODEL         pair of curated less that of the model
        count/MODEL        pairs that the model learns from;  wrong/MODEL: share of them in the wrong order
        wrong/recycled     share of exchanged pairs in the wrong order after the exchange

    Models: raw (the pool in its given order), gold (verified pairs), silver (stage 1), agreed (silver, gold, and pairs
    of the pool that both models agree with), curated (agreed, with recycled and relabelled pairs), clean (the pool
    without errors).

    Args:
        seeds: from the study's seed on.
        tasks: tasks with pairs.
        samples: rollouts of a task.
        held_out: tasks that measure.
        verified: pairs verified by people.
        first: pairs that the labellers label first.
        rounds: of stage 1; 8 in the paper.
        wild_error: share of pairs of the pool in the wrong order.
        label_error: error of an answer of a labeller.

    Example:
        pair 0.9 of curated and 0.8 of raw  ->  gain/raw 0.1

    Paper: arXiv:2507.01352 (Skywork-Reward-V2), curation in two stages.
    Differs: labellers are rules with errors; people's labels are the correctness of answers.
    """

    def measure(seed: int) -> dict[str, float]:
        play = policy_rollouts(arithmetic())
        given = play("train", tasks=tasks, samples=samples, seed=seed)
        tested = play("test", tasks=held_out, samples=samples, seed=HELD_OUT + seed)
        features = end_states(play.engine, [one for group, _ in (*given, *tested) for one in group])
        pairs, columns = ordered()(with_zero_credit(given)), dict[str, list[float]]()
        for number in range(seed, seed + seeds):
            data, recycled = _curated(pairs, features, number, verified, first, rounds, wild_error, label_error)
            truth = _truth(pairs)
            for name in MODELS:
                model = _fitted(features, data[name])
                ranked = judge_figures(model, tested)
                wrong = float(np.mean([not truth(pair) for pair in data[name]]))
                for key, value in (
                    ("pair", ranked.pair), ("best", ranked.best), ("count", len(data[name])), ("wrong", wrong)
                ):  # fmt: skip
                    columns.setdefault(f"{key}/{name}", []).append(float(value))
            columns.setdefault("best/random", []).append(ranked.random)
            if recycled:
                columns.setdefault("wrong/recycled", []).append(float(np.mean([not truth(one) for one in recycled])))
        return column_figures(columns, GAINS)

    return measure


def _truth(pairs: Sequence[Pair]) -> Callable[[Pair], bool]:
    """Whether the chosen side of a pair is the better one; `pairs` are in the right order."""
    right = {(pair.chosen.id, pair.rejected.id) for pair in pairs}
    return lambda pair: (pair.chosen.id, pair.rejected.id) in right


def _curated(
    pairs: Sequence[Pair],
    features: Callable[[Trajectory], np.ndarray],
    seed: int,
    verified: int,
    first: int,
    rounds: int,
    wild_error: float,
    label_error: float,
) -> tuple[dict[str, list[Pair]], list[Pair]]:
    """Pairs of each model, and the recycled pairs."""
    order = [pairs[k] for k in generator("skywork", seed).permutation(len(pairs))]
    truth = _truth(pairs)
    label = agreeing_labellers(truth, error=label_error, seed=seed)
    gold, seed_pairs = order[:verified], order[verified : verified + first]
    clean = order[verified + first :]
    pool = [wild_order(pair, truth, error=wild_error, seed=seed) for pair in clean]
    silver = curate(
        gold,
        seed_pairs,
        pool,
        fit=lambda own: _fitted(features, own),
        label=label,
        embed=lambda pair: features(pair.chosen) + features(pair.rejected),
        rounds=rounds,
    )
    best, of_gold = _fitted(features, [*gold, *silver]), _fitted(features, gold)
    seen = {frozenset((pair.chosen.id, pair.rejected.id)) for pair in silver}
    rest = [pair for pair in pool if frozenset((pair.chosen.id, pair.rejected.id)) not in seen]
    parts = filter_pairs(rest, best=best, gold=of_gold, label=label)
    agreed = [*gold, *silver, *parts.agreed]
    return {
        "raw": pool,
        "gold": gold,
        "silver": [*gold, *silver],
        "agreed": agreed,
        "curated": [*agreed, *parts.recycled, *parts.relabelled],
        "clean": clean,
    }, parts.recycled


def _fitted(features: Callable[[Trajectory], np.ndarray], pairs: Sequence[Pair]) -> FeatureNet:
    given = list(pairs)
    net = judges.feature_net(
        features=lambda one: features(one).tolist(),
        size=len(features(given[0].chosen)),
        pairs=lambda rated: given,
        hidden=0,
        weight_decay=1.0,
    )
    net.fit([])
    return net
