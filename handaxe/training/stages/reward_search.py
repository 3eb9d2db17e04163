"""Search for a reward program: each program trains a copy of the policy for a few steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Copyable, Reward, Stage, StageContext
from handaxe.core.records import Group, Task
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.turn_numbers import common_names, seen_values
from handaxe.rewards.program import program
from handaxe.training.loop.progress import Bar
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.parts.program_search import (
    FAILED,
    Check,
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

__all__ = ["TrialPlayer", "reward_search"]

LOOK = {"steps": 1, "groups": 2, "group_size": 2}
"""Rollouts of the start, to see which numbers a rollout has."""
STEPS = 30
GROUPS = 16
"""Defaults of `train`."""


class TrialPlayer(Protocol):
    """Trial of a program: `try_program`, or a function around it."""

    def __call__(
        self, text: str, site: StageContext, *, tasks: Sequence[Task], task: Reward, arguments: Mapping[str, Any]
    ) -> ProgramTrial: ...


def _no_critic(check: Check) -> Check:
    return check


def _no_figures(number: int, found: SearchRound) -> Mapping[str, float]:
    del number, found
    return {}


def reward_search(
    *,
    reward: SearchedReward,
    task: Reward,
    author: Writer,
    feedback: FeedbackMaker,
    arguments: Mapping[str, Any],
    programs: int = 4,
    rounds: int = 3,
    play: TrialPlayer = try_program,
    critic: Callable[[Check], Check] = _no_critic,
    figures: Callable[[int, SearchRound], Mapping[str, float]] = _no_figures,
) -> Stage:
    """Make a stage: search for programs, and put the best program into a reward.

        score(program) = max over the steps of a trial of the mean of `task` over the step's rollouts
        score(program) = -10000 if the program fails on any rollout of the trial

    A trial trains a fresh copy of the context's policy with the program as only reward. All trials have equal tasks and
    seeds, and the policy itself takes no step. Curves have at most 10 values. If every program fails, the reward stays
    as it is. A resumed stage reads finished trials from its folder. A progress line counts the trials.

    Args:
        reward: receives the text of the best program.
        task: measure of success, which neither author nor program reads but as score and curve.
        author, feedback, programs, rounds: see `search_programs`.
        arguments: of `train` for a trial: at least credit and loss.
        play: plays a trial, as `try_program`.
        critic: makes the check of the requests to the author of the check that runs a program.
        figures: (round from 0, its trials) -> further metrics of the round.

    Returns:
        A stage: a row of metrics a round.

            best, round_best   highest score so far, and of the round (-10000 if every program failed)
            score              mean score of the round's programs that ran, 0 if none did
            spread             standard deviation of these scores
            failed             share of the round's programs that failed

    Raises:
        InputError: an unknown argument of `train`, or one that the stage sets; an engine that cannot be copied.

    Example:
        programs 4, rounds 3, steps 6: 12 trials of 6 steps, then the run trains the policy with the best of 12 programs

    Paper: arXiv:2310.12931 (Eureka), sections 3.2 and 3.3.
    Differs: trials of few steps of a language model's policy replace full training in a simulator.
    """
    check_train_arguments(arguments)
    if reserved := sorted({"tasks", "reward", "run"} & set(arguments)):
        raise InputError(f"reward_search sets {' and '.join(reserved)} itself; leave it out of the arguments")

    def stage(site: StageContext) -> list[dict[str, float]]:
        if not isinstance(site.engine, Copyable):
            raise InputError(f"{type(site.engine).__name__} cannot be copied, so no trial can start as the policy")
        quiet = site._replace(out=None, resume=False, progress=False)
        steps = arguments.get("steps", STEPS)
        look = play_at(quiet, {**LOOK, "reward": task})
        tasks = list({one.id: one for one in site.tasks.next(0, steps * arguments.get("groups", GROUPS))}.values())
        leave_step(site.tasks)
        looked = [one for rated in look for one in rated.group]
        trials = TrialLog(site.out, resume=site.resume)

        def trial(text: str) -> ProgramTrial:
            found = trials.known(text) or trials.add(play(text, quiet, tasks=tasks, task=task, arguments=arguments))
            bar.step([f"score {found.score:.3f}" if found.runs else "failed"])
            return found

        with Bar(programs * rounds, enabled=site.progress, title="trial") as bar:
            found = search_programs(
                author=author,
                trial=trial,
                feedback=feedback,
                names=common_names(looked),
                values=seen_values(looked),
                check=critic(lambda text: _check(text, [rated.group for rated in look])),
                programs=programs,
                rounds=rounds,
                seed=derive_seed(site.seed, "search"),
            )
        if (best := found[-1].best) is not None:
            reward.text = best.text
        return [{**_row(r, one), **figures(r, one)} for r, one in enumerate(found)]

    return stage


def _check(text: str, groups: Sequence[Group]) -> str:
    """Run a program on rollouts; returns a sentence on the first failure."""
    try:
        for group in groups:
            program(text=text)(group)
    except (VerifierError, InputError) as error:
        return str(error)
    return ""


def _row(number: int, found: SearchRound) -> dict[str, float]:
    ran = [one.score for one in found.trials if one.runs]
    return {
        "step": float(number),
        "round": float(number),
        "best": FAILED if found.best is None else found.best.score,
        "round_best": max(one.score for one in found.trials),
        "score": float(np.mean(ran)) if ran else 0.0,
        "spread": float(np.std(ran)) if ran else 0.0,
        "failed": 1.0 - len(ran) / len(found.trials),
    }
