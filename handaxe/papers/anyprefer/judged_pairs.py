"""Stage of Anyprefer: judged pairs from rounds of sampling, checking and updating prompts, then preference training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.core.records import Group, RatedGroup, Scores, Task
from handaxe.curricula.in_order import in_order
from handaxe.ops.seeds import derive_seed
from handaxe.papers.anyprefer.knowledge_judge import KnowledgeJudge
from handaxe.papers.anyprefer.pair_check import check_pair
from handaxe.papers.anyprefer.role_prompts import Reflect, RolePrompts, named_tools
from handaxe.training.stages.sources import play_at

__all__ = ["Gathered", "gather_pairs", "judged_pairs", "label_accuracy"]

Tune = Callable[[Source], Stage]


class Gathered(NamedTuple):
    """Accepted groups of two rollouts, chosen and rejected, with the judge's scores; figures; the last prompts."""

    groups: list[RatedGroup]
    figures: dict[str, float]
    prompts: RolePrompts


def judged_pairs(
    *,
    judge: KnowledgeJudge,
    tasks: Callable[[int], Sequence[Task]],
    tune: Tune,
    reflect: Reflect,
    tools: Sequence[str],
    judge_tools: Sequence[str],
    prompts: RolePrompts,
    rounds: int = 3,
    answers: int = 5,
    threshold: float = 0.5,
) -> Stage:
    """Make a stage: gather judged pairs, then train on them.

        each round   the target samples `answers` answers of each open task, with the tools that its prompt names
                     the judge scores them, with the tools that its prompt names
                     check_pair accepts best against worst; the task is closed
                     rejected pairs leave feedback, and `reflect` updates both prompts

    Args:
        judge: of answers.
        tasks: seed -> tasks.
        tune: source of the accepted groups -> stage of training, such as `prefer` with `ordered`.
        reflect: updates the prompts.
        tools: names that the target's prompt may name.
        judge_tools: likewise of the judge; () for a judge without tools.
        prompts: of the first round.
        rounds: at most; a round without open tasks is left out.
        answers: n; 5 is a guess.
        threshold: of `check_pair`.

    Returns:
        A stage: the rows of the training, each with accepted and rejected (tasks), accepted/later (share of the
        accepted tasks whose pair came after the first round), label_accuracy, and updates (of prompts).

    Raises:
        InputError: rounds or answers out of range.

    Example:
        see `gather_pairs`

    Paper: arXiv:2504.19276 (Anyprefer), cooperative synthesis of preference data.
    Unconfirmed: the number of rounds and answers, from memory.
    Differs: prompts are updated once a round, from the feedback of all rejected pairs.
    """
    if rounds < 1 or answers < 2:
        raise InputError(f"judged_pairs has rounds={rounds} and answers={answers}; give 1 round and 2 answers or more")

    def stage(site: StageContext) -> list[dict[str, float]]:
        judge.bind(site)

        def play(given: Sequence[Task], number: int) -> list[RatedGroup]:
            arguments = {"steps": 1, "groups": len(given), "group_size": answers}
            own = site._replace(seed=derive_seed(site.seed, "round", number))
            return play_at(own, {**arguments, "tasks": in_order(given, shuffle=False)}, folder=f"round-{number}")

        def score(group: Group, own: tuple[str, ...]) -> np.ndarray:
            return judge.score(group, env=site.env, tools=own)

        found = gather_pairs(
            list(tasks(site.seed)),
            play=play,
            score=score,
            reflect=reflect,
            tools=tools,
            judge_tools=judge_tools,
            prompts=prompts,
            rounds=rounds,
            threshold=threshold,
        )
        rows = tune(lambda _: found.groups)(site)
        return [{**row, **found.figures} for row in rows] or [{"step": 0.0, **found.figures}]

    return stage


def gather_pairs(
    tasks: Sequence[Task],
    *,
    play: Callable[[Sequence[Task], int], Sequence[RatedGroup]],
    score: Callable[[Group, tuple[str, ...]], np.ndarray],
    reflect: Reflect,
    tools: Sequence[str],
    judge_tools: Sequence[str],
    prompts: RolePrompts,
    rounds: int,
    threshold: float,
) -> Gathered:
    """Gather accepted pairs, in rounds over the open tasks.

    Args:
        tasks: all open at first.
        play: (tasks with the target's tools, round) -> scored groups; their outcome is the truth, for figures alone.
        score: (group, the judge's tools) -> [G], 0 to 1.
        reflect, tools, judge_tools, prompts, rounds, threshold: see `judged_pairs`.

    Example:
        scores (0.2, 0.9, 0.6) of one task and (0.5, 0.6, 0.55) of another, one round  ->  one accepted pair, one
        rejected, and the prompts of `reflect`

    Paper: arXiv:2504.19276 (Anyprefer), the loop of target, judge and check.
    Unconfirmed: the loop's details, from memory.
    Differs: see `judged_pairs`.
    """
    pending = {one.id: one for one in tasks}
    groups = list[RatedGroup]()
    late = 0
    updates = 0
    for number in range(rounds):
        if not pending:
            break
        offered = named_tools(prompts.target, tools)
        consulted = named_tools(prompts.judge, judge_tools)
        feedback = list[str]()
        for one in play([replace(task, tools=offered) for task in pending.values()], number):
            score_G = score(one.group, consulted)
            checked = check_pair(score_G, threshold=threshold)
            if checked.accepted and pending.pop(one.group.task.id, None) is not None:
                groups.append(_pair(one, score_G, checked.best, checked.worst))
                late += number > 0
            feedback += [checked.feedback] if checked.feedback else []
        before = prompts
        prompts = reflect(before, feedback)
        updates += prompts != before
    figures = {
        "accepted": float(len(groups)),
        "accepted/later": late / max(len(groups), 1),
        "rejected": float(len(pending)),
        "label_accuracy": label_accuracy(groups),
        "updates": float(updates),
    }
    return Gathered(groups, figures, prompts)


def label_accuracy(groups: Sequence[RatedGroup]) -> float:
    """Share of pairs whose chosen rollout is truly better: 1 if the truth agrees, 1/2 if it ties, else 0.

        mean over pairs of 1/2 + sign(R_w - R_l) / 2;   1/2 without a pair

    Args:
        groups: of `gather_pairs`, chosen before rejected, with the truth in the channel "truth"; NaN is a tie.

    Example:
        truths (1, 0), (0, 0), (0, 1)  ->  (1 + 1/2 + 0) / 3 = 0.5

    Paper: arXiv:2504.19276 (Anyprefer), quality of judged labels.
    Differs: nothing.
    """
    gap_P = np.array([one.scores.channels["truth"][0] - one.scores.channels["truth"][1] for one in groups], np.float64)
    return float((0.5 + np.sign(np.nan_to_num(gap_P)) / 2).mean()) if len(gap_P) else 0.5


def _pair(one: RatedGroup, score_G: np.ndarray, best: int, worst: int) -> RatedGroup:
    """The group of chosen and rejected rollout, with the judge's scores as outcome."""
    index = [best, worst]
    group = Group(one.group.task, tuple(one.group[i] for i in index), one.group.step)
    scores = Scores(score_G[index], channels={"truth": one.scores.outcome[index]})
    advantages = replace(one.advantages, tokens=tuple(one.advantages.tokens[i] for i in index), trains=None)
    return RatedGroup.of(group, scores, advantages)
