"""Study: best of n by single reward models, and by ensembles of fine-tuning and of pretraining seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import Engine
from handaxe.core.records import RatedGroup, Sampling
from handaxe.evaluation.best_of import best_of_curve
from handaxe.evaluation.play_groups import play_groups
from handaxe.judges.reward_model import RewardModel
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.papers.rm_ensembles.members_of import members_of
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.arithmetic import arithmetic

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["order_agreement", "rm_ensembles_best_of"]

HOT = Sampling(temperature=1.5, max_tokens=48)
KINDS = ("finetune", "pretrain")
SIBLINGS = 8
"""Rollouts of a labelled task, and of a task at the high temperature."""


class _Scored(NamedTuple):
    """Rollouts of a task.

    truth_G   [G] correctness
    score_MG  kind -> [M, G] scores of the members
    """

    truth_G: np.ndarray
    score_MG: dict[str, np.ndarray]

    def agreement(self) -> dict[str, float]:
        return {kind: order_agreement(own_MG, self.truth_G) for kind, own_MG in self.score_MG.items()}


def rm_ensembles_best_of(
    *, members: int = 3, labelled: int = 48, tasks: int = 48, samples: int = 16, fit_epochs: int = 4
) -> StudyFunction:
    """Fit reward models to the same labels, and choose among rollouts by single members and by their mean score.

        finetune   the cold start of one seed, and heads of different seeds
        pretrain   cold starts of different seeds, each with a head

    The first cold start plays all rollouts. Only tasks with a correct and a wrong rollout count.

    Figures; KIND is finetune or pretrain:
        best/KIND, best/KIND/single   correctness of the choice among all samples, by the mean score, and by a member
        best/oracle, best/random      of a perfect and of a random choice
        gain/KIND                     the first less the second, with /low and /high of the 95 % interval over tasks
        gain/between                  gain/pretrain less gain/finetune, with the interval
        agree/KIND                    share of pairs, a correct and a wrong rollout, in equal order by two members
        agree/KIND/hot                the same for rollouts at temperature 1.5
        fall                          agreement less that at temperature 1.5, mean of both kinds, at tasks with both,
                                      with the interval
        agree/between                 agree/pretrain/hot less agree/finetune/hot, with the interval
        shared/KIND                   share of the ensemble's wrong choices with a wrong choice of every member

    Args:
        members: reward models of an ensemble, >= 2.
        labelled: labelled groups, with 8 rollouts each.
        tasks: held-out tasks.
        samples: rollouts of a held-out task.
        fit_epochs: passes over the labelled pairs.

    Example:
        two members choose a wrong rollout each, their mean a correct one: best 1, single 0, gain 1

    Paper: arXiv:2312.09244, best-of-n reranking by ensembles.
    Differs: seeds of the cold start replace seeds of pretraining; the truth is the correctness of an answer.
    """

    def measure(seed: int) -> dict[str, float]:
        world = arithmetic()
        starts = [start_policy(world, seed=own) for own in range(members)]
        engines = [local.LocalEngine(policy.model) for policy in starts]

        play = partial(play_groups, engines[0], starts[0].format, world, seed=seed)
        lessons = play(split="train", tasks=labelled, siblings=SIBLINGS)
        held_out = [one for one in play(split="test", tasks=tasks, siblings=samples) if _is_mixed(one)]
        hot = [one for one in play(split="test", tasks=tasks, siblings=SIBLINGS, sampling=HOT) if _is_mixed(one)]
        arms = {"finetune": engines[:1] * members, "pretrain": engines}
        judges = {kind: _fitted(own, lessons, fit_epochs) for kind, own in arms.items()}
        return _figures(_scored(judges, held_out), _scored(judges, hot))

    return measure


def order_agreement(score_MG: np.ndarray, truth_G: np.ndarray) -> float:
    """Share of pairs, a correct and a wrong rollout, in equal order by two members; the mean over pairs of members.

    Args:
        score_MG: [M, G] scores of members, M >= 2.
        truth_G: [G] 1 for correct, with both kinds.

    Example:
        scores 2, 1 and 0, 3 of a correct and a wrong rollout  ->  0;  scores 2, 1 and 5, 3  ->  1

    Paper: arXiv:2312.09244, agreement of reward models in and out of distribution.
    Differs: pairs are correct and wrong rollouts, in place of preferences by people.
    """
    right_G = truth_G > 0
    first_MP = np.array([np.subtract.outer(own_G[right_G], own_G[~right_G]).ravel() > 0 for own_G in score_MG])
    return float(np.mean([np.mean(a == b) for a, b in combinations(first_MP, 2)]))


def _is_mixed(one: RatedGroup) -> bool:
    return 0 < one.scores.outcome.mean() < 1


def _fitted(engines: Sequence[Engine], lessons: Sequence[RatedGroup], fit_epochs: int) -> list[RewardModel]:
    """Reward models on the labelled groups, one for each engine."""
    judges = members_of(count=len(engines), fit_epochs=fit_epochs)
    for judge, engine in zip(judges, engines, strict=True):
        judge.begin(engine)
        judge.fit([(one.group, replace(one.scores, channels={"correct": one.scores.outcome})) for one in lessons])
    return judges


def _scored(judges: Mapping[str, Sequence[RewardModel]], groups: Sequence[RatedGroup]) -> dict[str, _Scored]:
    """Scores of the members of each kind, and truths, by task."""
    return {
        one.group.task.id: _Scored(
            one.scores.outcome,
            {kind: np.array([judge.score(one.group) for judge in own], np.float64) for kind, own in judges.items()},
        )
        for one in groups
    }


def _figures(cold: Mapping[str, _Scored], hot: Mapping[str, _Scored]) -> dict[str, float]:
    truths = [one.truth_G for one in cold.values()]
    figures = {
        "best/oracle": float(np.mean([truth_G.max() for truth_G in truths])),
        "best/random": float(np.mean([truth_G.mean() for truth_G in truths])),
        "tasks": float(len(truths)),
    }
    gains = dict[str, np.ndarray]()
    agree, hot_agree = ({task: one.agreement() for task, one in scored.items()} for scored in (cold, hot))
    for kind in KINDS:
        pairs = [(one.score_MG[kind], one.truth_G) for one in cold.values()]
        whole_T = np.array([best_of_curve(score_MG.mean(0), truth_G)[-1] for score_MG, truth_G in pairs])
        single_TM = np.array([[best_of_curve(one_G, truth_G)[-1] for one_G in score_MG] for score_MG, truth_G in pairs])
        gains[kind] = whole_T - single_TM.mean(1)
        figures |= {f"best/{kind}": float(whole_T.mean()), f"best/{kind}/single": float(single_TM.mean())}
        figures |= interval_figures(f"gain/{kind}", gains[kind])
        wrong_T = whole_T == 0
        figures[f"shared/{kind}"] = float((single_TM[wrong_T].max(1) == 0).mean()) if wrong_T.any() else 0.0
        figures[f"agree/{kind}"] = float(np.mean([own[kind] for own in agree.values()]))
        figures[f"agree/{kind}/hot"] = float(np.mean([own[kind] for own in hot_agree.values()]))
    figures |= interval_figures("gain/between", gains["pretrain"] - gains["finetune"])
    both = [task for task in agree if task in hot_agree]
    figures |= interval_figures(
        "fall", [float(np.mean([agree[task][kind] - hot_agree[task][kind] for kind in KINDS])) for task in both]
    )
    figures |= interval_figures("agree/between", [own["pretrain"] - own["finetune"] for own in hot_agree.values()])
    return dict(sorted(figures.items()))
