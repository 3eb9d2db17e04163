"""Study: process reward models of a verifiable and of another objective, trained alike, guide decoding."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from handaxe import judges, rollouts
from handaxe.core.errors import InputError
from handaxe.core.protocols import StepJudge
from handaxe.core.records import Sampling
from handaxe.evaluation.policy_rollouts import HELD_OUT, policy_rollouts
from handaxe.methods.method import StudyFunction
from handaxe.papers.mah_dpo.guided_figures import UNGUIDED, best_rollouts, guided_arm, guided_figures
from handaxe.papers.mah_dpo.objective_pairs import OBJECTIVES
from handaxe.papers.mah_dpo.objective_prm import explained_labels, objective_prm, step_labels
from handaxe.papers.mah_dpo.weighted_steps import weighted_steps
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.worked_steps import worked_steps

__all__ = ["mah_dpo_guided"]

TURNS = 8
SAMPLING = Sampling(temperature=1.0, max_tokens=24)
SUM = "sum"
BEST = "best"
GUIDES: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {"correct": {"correct": 1.0}, "brief": {"brief": 1.0}, SUM: {"correct": 0.5, "brief": 0.5}, "first": {}}
)
"""Arm -> weights of the process reward models."""


def mah_dpo_guided(*, training: int = 48, samples: int = 4, held_out: int = 160, candidates: int = 4) -> StudyFunction:
    """Train a process reward model per objective on equal rollouts, and guide the decoding of held-out tasks.

    The cold-start checkpoint of `worked_steps` plays. At each turn, `candidates` next turns are sampled, and the one
    with the greatest weighted sum of process rewards goes on.

    Figures, means over held-out tasks; /low and /high are the ends of a 95 % interval over tasks. ARM is correct or
    brief (guided by the process reward model of that objective), sum (by both, weights 0.5), rule (by the world's
    verdicts, without a model), first (equal candidates, and the first that ended by itself), best (of `candidates`
    unguided rollouts, the one with the greatest mean of the weighted sum), or unguided:
        correct/ARM         share of rollouts with a correct answer
        tokens/ARM          tokens of a rollout; turns/ARM: its turns
        sampled/ARM         sampled tokens of a task, with candidates that were not chosen
        gain/correct/ARM    correct of an arm less that of unguided;  saved/ARM: tokens of unguided less those of an arm
        explained/NAME      share of the variance of the objective's labels at unguided held-out turns that its process
                            reward model explains
        labels              labelled turns of training, equal for both objectives

    Args:
        training: tasks of the training rollouts.
        samples: rollouts of a training task.
        held_out: tasks that measure: one guided rollout each, `candidates` rollouts each without guidance.
        candidates: next turns of a guided turn.

    Raises:
        InputError: a size below 1.

    Example:
        correct 0.6 guided by the sum and 0.4 unguided  ->  gain/correct/sum 0.2

    Paper: arXiv:2510.01167 (MAH-DPO), process reward models of all objectives, and decoding with their guidance.
    Differs: a policy of 0.85M parameters in a world whose turns have both objectives, and rules in place of annotators.
    """
    sizes = {"training": training, "samples": samples, "held_out": held_out, "candidates": candidates}
    if wrong := [f"{name}={size}" for name, size in sizes.items() if size < 1]:
        raise InputError(f"mah_dpo_guided takes sizes of 1 or more, not {', '.join(wrong)}")

    def measure(seed: int) -> dict[str, float]:
        world = worked_steps()
        play = policy_rollouts(world, policy=start_policy(world), turns=TURNS, sampling=SAMPLING)
        verdicts = world.need("verdicts")
        lessons = play("train", tasks=training, samples=samples, seed=seed)
        unguided = play("test", tasks=held_out, samples=candidates, seed=HELD_OUT + seed)
        figures = {"labels": float(sum(len(one.turns) for group, _ in lessons for one in group))}
        models = {}
        for name in OBJECTIVES:
            models[name] = objective_prm(
                play.engine, step_labels(lessons, name, verdicts=verdicts, limit=SAMPLING.max_tokens)
            )
            unseen = step_labels(unguided, name, verdicts=verdicts, limit=SAMPLING.max_tokens)
            figures[f"explained/{name}"] = explained_labels(models[name], unseen)
        arms = {UNGUIDED: guided_arm(unguided), BEST: best_rollouts(unguided, weighted_steps(models, GUIDES[SUM]))}
        guides: dict[str, StepJudge] = {arm: weighted_steps(models, weights) for arm, weights in GUIDES.items()}
        for arm, judge in (guides | {"rule": judges.exact_steps(verdicts=verdicts)}).items():
            guide = rollouts.search.best_step(judge=judge, samples=candidates, max_turns=TURNS)
            played = play("test", tasks=held_out, samples=1, seed=HELD_OUT + seed, rollout=guide)
            arms[arm] = guided_arm(played)
        return figures | guided_figures(arms)

    return measure
