"""Search for a reward program with a critic before each trial and an analysis of failed rollouts after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.protocols import Reward, Stage, StageContext
from handaxe.core.records import Task
from handaxe.papers.auto_mc_reward.critic import Critic
from handaxe.papers.auto_mc_reward.failure_causes import RolloutLog, failure_curves, rank_causes
from handaxe.training.stages.parts.program_search import Brief, Check, FeedbackMaker, ProgramTrial, SearchRound, Writer
from handaxe.training.stages.parts.searched_reward import SearchedReward
from handaxe.training.stages.parts.try_program import try_program
from handaxe.training.stages.reward_search import reward_search

__all__ = ["analysed_search"]


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
        arguments: of `train` for a trial: at least credit and loss. The credit gets the channels "program" and "task".

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

    critics = list[Critic]()
    objections = list[int]()

    def critic(check: Check) -> Check:
        """Start a search."""
        critics[:] = [Critic(check)]
        objections.clear()
        return critics[0]

    def write(brief: Brief, count: int, seed: int) -> Sequence[str]:
        texts = author(brief, count, seed)
        objections.append(critics[0].objections - sum(objections))
        return texts

    def figures(number: int, found: SearchRound) -> dict[str, float]:
        causes = rank_causes(max(found.trials, key=lambda one: one.score).curves)
        lack = causes[0].solved - causes[0].failed if causes else 0.0
        return {"rejected": objections[number] / len(found.trials), "lack": lack}

    return reward_search(
        reward=reward,
        task=task,
        author=write,
        feedback=feedback,
        arguments=arguments,
        programs=programs,
        rounds=rounds,
        play=_analysed_trial,
        critic=critic,
        figures=figures,
    )


def _analysed_trial(
    text: str, site: StageContext, *, tasks: Sequence[Task], task: Reward, arguments: Mapping[str, Any]
) -> ProgramTrial:
    """`try_program`, with failures of its rollouts among the curves."""
    log = RolloutLog(task)
    found = try_program(text, site, tasks=tasks, task=log, arguments=arguments)
    failures = failure_curves(log.rollouts) if found.runs else {}
    return found._replace(curves={**found.curves, **failures})
