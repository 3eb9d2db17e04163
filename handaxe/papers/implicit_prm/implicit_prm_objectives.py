"""Study: implicit PRMs of four objectives choose among rollouts, alone and with votes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe import judges, rollouts
from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import Engine
from handaxe.core.records import RatedGroup, Sampling, Task
from handaxe.evaluation.best_of import best_of_curve
from handaxe.evaluation.play_groups import play_groups
from handaxe.judges.implicit_prm import ImplicitPrm
from handaxe.judges.reward_model import RewardModel
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.implicit_prm.objectives import OBJECTIVES, Objective, prm_by_objective
from handaxe.papers.implicit_prm.step_labels import continuation_labels, turn_continuations
from handaxe.rewards.parts.extract import final_text
from handaxe.rollouts.search.play_search import SearchPlayer
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import Split, World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["implicit_prm_objectives", "weighted_vote"]

SIBLINGS = 8
"""Rollouts of a labelled task, and of a held-out task."""
CHUNK = 8
"""Groups of 8 rollouts, or 64 rollouts, of an optimizer step."""
FORKED = 6
"""Rollouts of a labelled task whose steps have labels by continuation, and no other rollouts."""
CONTINUATIONS = 4
SAMPLING = Sampling(temperature=1.0, max_tokens=48)
AGGREGATES: Mapping[str, Callable[[np.ndarray], float]] = MappingProxyType({"sum": np.sum, "min": np.min})


class _Judged(NamedTuple):
    """Rollouts of a task.

    truth_G   [G] correctness
    answers   of each rollout
    steps     name of a judge -> scores of the turns of each rollout
    """

    truth_G: np.ndarray
    answers: list[str]
    steps: dict[str, tuple[np.ndarray, ...]]


def implicit_prm_objectives(*, labelled: int = 48, tasks: int = 64, epochs: int = 5) -> StudyFunction:
    """Fit implicit PRMs to equal rollouts by cross-entropy, DPO, NCA and KTO, and choose among 8 held-out rollouts.

    One more PRM learns by cross-entropy from one rollout of each of eight times as many tasks. A PRM with a head learns
    labels of steps by continuation, as Math-Shepherd's, from more sampled tokens. The cold start plays all rollouts.

    Figures; OBJ is ce, dpo, nca, kto, or one (the PRM with one rollout a task):
        OBJ/sum, OBJ/min     correctness of the best of 8, by the sum and by the least of the step scores
        shepherd             of the best of 8 by the least step score of the PRM with labels of steps
        OBJ/vote             of the answer with the greatest sum of sigmoid(score)
        single, majority, oracle     of a single rollout, of the most frequent answer, and of a perfect choice
        gain/OBJ             OBJ/sum less single, with /low and /high of the 95 % interval over tasks
        vote/ce              ce/vote less ce/sum, with the interval
        vote/majority        ce/vote less majority, with the interval
        ce/dpo, ce/nca, ce/kto, ce/shepherd      ce/sum less the other's, with the interval
        tokens/shepherd      tokens sampled for labels of steps, over those sampled for labels of outcomes

    Args:
        labelled: tasks with 8 labelled rollouts.
        tasks: held-out tasks.
        epochs: passes over the labelled rollouts, with an optimizer step for 64 rollouts.

    Example:
        a correct and a wrong rollout, of which the PRM prefers the correct: ce/sum 1, single 0.5, gain/ce 0.5

    Paper: arXiv:2412.01981 (implicit PRM): objectives, best of n, majority voting, one response per instruction.
    Differs: 8 candidates of one policy; weights of votes are a guess.
    """

    def measure(seed: int) -> dict[str, float]:
        world = arithmetic()
        policy = start_policy(world, seed=seed)
        engine = local.LocalEngine(policy.model)

        def play(split: Split, tasks: int, siblings: int) -> list[RatedGroup]:
            return play_groups(engine, policy.format, world, split=split, tasks=tasks, siblings=siblings, seed=seed)

        lessons = play("train", labelled, SIBLINGS)
        prms: dict[str, ImplicitPrm] = {name: _fitted(name, engine, lessons, CHUNK, epochs) for name in OBJECTIVES}
        alone = play("train", labelled * SIBLINGS, 1)
        prms["one"] = _fitted("ce", engine, alone, CHUNK * SIBLINGS, epochs)
        chosen = [one.group.task for one in lessons]
        shepherd, tokens = _shepherd(world, policy, engine, chosen, epochs=epochs, seed=seed)
        held_out = play("test", tasks, SIBLINGS)
        ratio = tokens / sum(each.usage.tokens for one in lessons for each in one.group)
        best_T = [best_of_curve(shepherd.score(one.group), one.scores.outcome)[-1] for one in held_out]
        figures = _figures([_judged(one, prms) for one in held_out], {"shepherd": np.array(best_T)})
        return {**figures, "tokens/shepherd": ratio}

    return measure


def weighted_vote(answers: Sequence[str], weight_G: np.ndarray, truth_G: np.ndarray) -> float:
    """Correctness of the answer with the greatest sum of weights.

    Args:
        answers: of the candidates.
        weight_G: [G] weights, >= 0; 1 for each gives the most frequent answer.
        truth_G: [G] correctness of the candidates.

    Returns:
        Mean correctness of the candidates with that answer; answers with equal sums share.

    Example:
        answers a, a, b with weights 0.2, 0.3, 0.6, of which b is correct  ->  1; with weights 1, 1, 1  ->  0

    Paper: arXiv:2412.01981 (implicit PRM), the combination with majority voting.
    Differs: the weights of the study, sigmoid(score), are a guess.
    """
    names = sorted(set(answers))
    own = [np.array([one == name for one in answers]) for name in names]
    totals = np.array([weight_G[here].sum() for here in own])
    truths = np.array([truth_G[here].mean() for here in own])
    return float(truths[np.isclose(totals, totals.max(), rtol=1e-12, atol=0)].mean())


def _fitted(
    objective: Objective, engine: Engine, lessons: Sequence[RatedGroup], chunk: int, epochs: int
) -> ImplicitPrm:
    judge = prm_by_objective(objective)
    judge.begin(engine)
    for _ in range(epochs):
        for first in range(0, len(lessons), chunk):
            judge.fit([(one.group, one.scores) for one in lessons[first : first + chunk]])
    return judge


def _shepherd(
    world: World, policy: loading.Policy, engine: Engine, tasks: Sequence[Task], *, epochs: int, seed: int
) -> tuple[RewardModel, int]:
    """A PRM with a head, fitted to labels of steps by continuation; and the sampled tokens."""
    play = SearchPlayer(world.env(world.tools), engine, policy.format, SAMPLING)
    rollout = rollouts.forking(at=turn_continuations(count=CONTINUATIONS), max_turns=world.start_turns)
    played = play(rollout, [(derive_seed(seed, "shepherd"), task) for task in tasks], samples=FORKED)
    lessons = [
        labelled
        for one in played
        for labelled in continuation_labels(one.group, world.correct(one.group).outcome, count=CONTINUATIONS)
    ]
    judge = judges.reward_model(
        reads="turns", aggregate="min", squash=True, fit_epochs=epochs, batch_size=CHUNK * FORKED, learning_rate=3e-4
    )
    judge.begin(engine)
    judge.fit(lessons)
    return judge, sum(one.tokens for one in played)


def _judged(one: RatedGroup, judges: Mapping[str, ImplicitPrm]) -> _Judged:
    steps = {name: judge.score_steps(one.group) for name, judge in judges.items()}
    return _Judged(one.scores.outcome, [final_text(each).strip() for each in one.group], steps)


def _figures(played: Sequence[_Judged], others: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Figures of the judged rollouts; `others`: [T] correctness of further choices."""
    truths = [one.truth_G for one in played]
    single_T = np.array([truth_G.mean() for truth_G in truths])
    majority_T = np.array([weighted_vote(one.answers, np.ones(len(one.answers)), one.truth_G) for one in played])
    best_T, vote_T = dict[str, np.ndarray](), dict[str, np.ndarray]()
    figures = {
        "single": float(single_T.mean()),
        "majority": float(majority_T.mean()),
        "oracle": float(np.mean([truth_G.max() for truth_G in truths])),
        "tasks": float(len(played)),
    }
    for name in played[0].steps:
        score_TG = {
            kind: [np.array([made(own) for own in one.steps[name]]) for one in played]
            for kind, made in AGGREGATES.items()
        }
        for kind, scores in score_TG.items():
            own_T = [best_of_curve(score_G, truth_G)[-1] for score_G, truth_G in zip(scores, truths, strict=True)]
            best_T[f"{name}/{kind}"] = np.array(own_T)
        vote_T[name] = np.array(
            [
                weighted_vote(one.answers, 1 / (1 + np.exp(-score_G)), one.truth_G)
                for one, score_G in zip(played, score_TG["sum"], strict=True)
            ]
        )
        figures[f"{name}/vote"] = float(vote_T[name].mean())
        figures |= interval_figures(f"gain/{name}", best_T[f"{name}/sum"] - single_T)
    figures |= {name: float(own_T.mean()) for name, own_T in best_T.items()}
    figures |= interval_figures("vote/ce", vote_T["ce"] - best_T["ce/sum"])
    figures |= interval_figures("vote/majority", vote_T["ce"] - majority_T)
    figures |= {name: float(own_T.mean()) for name, own_T in others.items()}
    rivals = {**{name: best_T[f"{name}/sum"] for name in ("dpo", "nca", "kto")}, **others}
    for name, other_T in rivals.items():
        figures |= interval_figures(f"ce/{name}", best_T["ce/sum"] - other_T)
    return dict(sorted(figures.items()))
