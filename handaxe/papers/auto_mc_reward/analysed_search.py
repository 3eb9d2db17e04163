"""Search for a reward program with a critic before each trial and an analysis of failed rollouts after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Copyable, Reward, Stage, StageContext
from handaxe.core.records import Group
from handaxe.ops.seeds import derive_seed
from handaxe.papers.auto_mc_reward.critic import Critic
from handaxe.papers.auto_mc_reward.failure_causes import RolloutLog, failure_curves, rank_causes
from handaxe.rewards.parts.turn_numbers import common_names
from handaxe.rewards.program import program
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.parts.program_search import (
    FAILED,
    Brief,
    FeedbackMaker,
    ProgramTrial,
    SearchRound,
    Writer,
    search_programs,
)
from handaxe.training.stages.parts.searched_reward import SearchedReward
from handaxe.training.stages.parts.trial_log import TrialLog
from handaxe.training.stages.parts.try_program import try_program
from handaxe.training.stages.sources import leave_step, play_at

__all__ = ["analysed_search"]

LOOK = {"steps": 1, "groups": 2, "group_size": 2}
"""Rollouts of the start, for the critic."""


def analysed_search(
    *,
    reward: SearchedReward,
    task: Reward,
    author: Writer,
    feedback: FeedbackMaker,
    arguments: Mapping[str, Any],
    programs: int,
    rounds: int,
) -> Stage:
    """Make a stage: `reward_search` with a critic as check of a program, and failures among the curves of a trial.

    Args:
        reward, task, author, feedback, programs, rounds: see `reward_search`.
        arguments: of `train` for a trial: at least credit, loss, steps and groups. The credit gets the channels
            "program" and "task".

    Returns:
        A stage: a row of metrics a round, those of `reward_search` and

            rejected   objections of the critic, by the number of programs
            lack       largest difference between solved and failed rollouts in the trial of the round's best program

    Raises:
        InputError: an unknown argument of `train`; an engine that cannot be copied.

    Example:
        programs 4, rounds 3, steps 4: 12 trials of 4 steps; rounds 1 and 2 read the failures of the round before

    Paper: arXiv:2312.09238 (Auto MC-Reward), the loop of designer, critic and analyser.
    Differs: several programs a round, and the best of all rounds.
    """
    check_train_arguments(arguments)

    def stage(site: StageContext) -> list[dict[str, float]]:
        if not isinstance(site.engine, Copyable):
            raise InputError(f"{type(site.engine).__name__} cannot be copied, so no trial can start as the policy")
        quiet = site._replace(out=None, resume=False, progress=False)
        look = [rated.group for rated in play_at(quiet, {**LOOK, "reward": task})]
        tasks = list({one.id: one for one in site.tasks.next(0, arguments["steps"] * arguments["groups"])}.values())
        leave_step(site.tasks)
        trials = TrialLog(site.out, resume=site.resume)
        critic = Critic(lambda text: _error(text, look))
        objections = list[int]()

        def write(brief: Brief, count: int, seed: int) -> Sequence[str]:
            texts = author(brief, count, seed)
            objections.append(critic.objections - sum(objections))
            return texts

        def trial(text: str) -> ProgramTrial:
            if (known := trials.known(text)) is not None:
                return known
            log = RolloutLog(task)
            found = try_program(text, quiet, tasks=tasks, task=log, arguments=arguments)
            failures = failure_curves(log.rollouts) if found.runs else {}
            return trials.add(found._replace(curves={**found.curves, **failures}))

        found = search_programs(
            author=write,
            trial=trial,
            feedback=feedback,
            names=common_names([one for group in look for one in group]),
            check=critic,
            programs=programs,
            rounds=rounds,
            seed=derive_seed(site.seed, "search"),
        )
        if (best := found[-1].best) is not None:
            reward.text = best.text
        return [_row(r, one, rejected) for r, (one, rejected) in enumerate(zip(found, objections, strict=True))]

    return stage


def _error(text: str, groups: Sequence[Group]) -> str:
    """Run a program on rollouts; returns a sentence on the first failure."""
    try:
        for group in groups:
            program(text=text)(group)
    except (VerifierError, InputError) as error:
        return str(error)
    return ""


def _row(number: int, found: SearchRound, rejected: int) -> dict[str, float]:
    ran = [one.score for one in found.trials if one.runs]
    leader = max(found.trials, key=lambda one: one.score)
    causes = rank_causes(leader.curves)
    return {
        "step": float(number),
        "round": float(number),
        "best": FAILED if found.best is None else found.best.score,
        "round_best": leader.score,
        "score": float(np.mean(ran)) if ran else 0.0,
        "spread": float(np.std(ran)) if ran else 0.0,
        "failed": 1.0 - len(ran) / len(found.trials),
        "rejected": rejected / len(found.trials),
        "lack": causes[0].solved - causes[0].failed if causes else 0.0,
    }
