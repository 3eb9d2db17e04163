"""Search for a reward program with a critic before each trial and an analysis of failed rollouts after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from handaxe.core.protocols import Reward, Stage, StageContext
from handaxe.core.records import Task, Trajectory
from handaxe.methods.text_source import check_text_source, text_desk
from handaxe.papers.auto_mc_reward.asked_roles import asked_analyser, asked_objection
from handaxe.papers.auto_mc_reward.critic import Critic
from handaxe.papers.auto_mc_reward.failure_causes import RolloutLog, failure_curves, rank_causes
from handaxe.training.stages.parts.program_search import Brief, Check, FeedbackMaker, ProgramTrial, SearchRound, Writer
from handaxe.training.stages.parts.searched_reward import SearchedReward
from handaxe.training.stages.parts.try_program import try_program
from handaxe.training.stages.reward_search import reward_search

__all__ = ["ReviewRoles", "analysed_search"]


@dataclass(frozen=True)
class ReviewRoles:
    """Who reviews programs and failed rollouts.

    Args:
        goal: name of the tasks.
        reviewer: the critic, a source of `methods.text_source`: rule, self, a model, or http://HOST/v1#NAME.
        analyser: likewise.

    Raises:
        InputError: no such source.
    """

    goal: str = ""
    reviewer: str = "rule"
    analyser: str = "rule"

    def __post_init__(self) -> None:
        check_text_source(self.reviewer, option="--reviewer")
        check_text_source(self.analyser, option="--analyser")


RULES = ReviewRoles()


def analysed_search(
    *,
    reward: SearchedReward,
    task: Reward,
    author: Writer,
    feedback: FeedbackMaker,
    arguments: Mapping[str, Any],
    programs: int,
    rounds: int,
    roles: ReviewRoles = RULES,
) -> Stage:
    """Make a stage: `reward_search` with a critic as check of a program, and failures among the curves of a trial.

    Args:
        reward, task, author, feedback, programs, rounds: see `reward_search`.
        arguments: of `train` for a trial: at least credit and loss. The credit gets the channels "program" and "task".
        roles: critic and analyser.

    Returns:
        A stage: a row of metrics a round, those of `reward_search` and

            rejected   objections of the critic, by the number of programs
            lack       largest difference between solved and failed rollouts in the trial of the round's best program

    Raises:
        InputError: an unknown argument of `train`; an engine that cannot be copied; a model of `roles` is away.

    Example:
        programs 4, rounds 3, steps 4: 12 trials of 4 steps; rounds 1 and 2 read the failures of the round before

    Paper: arXiv:2312.09238 (Auto MC-Reward), the loop of designer, critic and analyser.
    Differs: several programs a round, and the best of all rounds.
    """

    review = _Review(roles)

    def write(brief: Brief, count: int, seed: int) -> Sequence[str]:
        texts = author(brief, count, seed)
        review.end_round()
        return texts

    def figures(number: int, found: SearchRound) -> dict[str, float]:
        causes = rank_causes(max(found.trials, key=lambda one: one.score).curves)
        lack = causes[0].solved - causes[0].failed if causes else 0.0
        return {"rejected": review.objections[number] / len(found.trials), "lack": lack}

    search = reward_search(
        reward=reward,
        task=task,
        author=write,
        feedback=feedback,
        arguments=arguments,
        programs=programs,
        rounds=rounds,
        play=review.play,
        critic=review.begin,
        figures=figures,
    )

    @wraps(search)
    def stage(site: StageContext) -> Any:
        review.open(site)
        return search(site)

    return stage


class _Review:
    """Critic and analyser of a search, and the objections of each round."""

    def __init__(self, roles: ReviewRoles):
        self._roles = roles
        self._objection: Callable[[str], str] | None = None
        self._analyse: Callable[[Sequence[tuple[Trajectory, float]]], str] | None = None
        self.objections: list[int] = []

    def open(self, site: StageContext) -> None:
        """Open the desks of models."""
        goal = self._roles.goal
        criticism = text_desk(self._roles.reviewer, site, option="--reviewer")
        analysis = text_desk(self._roles.analyser, site, option="--analyser")
        self._objection = None if criticism is None else asked_objection(criticism, goal=goal)
        self._analyse = None if analysis is None else asked_analyser(analysis, goal=goal)

    def begin(self, check: Check) -> Check:
        """Begin a search; returns the critic."""
        self._critic = Critic(check, self._objection)
        self.objections = []
        return self._critic

    def end_round(self) -> None:
        """Count the objections since the last round."""
        self.objections.append(self._critic.objections - sum(self.objections))

    def play(
        self, text: str, site: StageContext, *, tasks: Sequence[Task], task: Reward, arguments: Mapping[str, Any]
    ) -> ProgramTrial:
        """`try_program`, with failures of its rollouts among the curves, and the analyser's comment."""
        log = RolloutLog(task)
        found = try_program(text, site, tasks=tasks, task=log, arguments=arguments)
        if not found.runs:
            return found
        comment = "" if self._analyse is None else self._analyse(log.rollouts)
        return found._replace(curves={**found.curves, **failure_curves(log.rollouts)}, comment=comment)
