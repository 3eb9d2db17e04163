"""Stage: cold start on samples with and without tools, by classes of difficulty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Message, RatedGroup, Task, Trajectory
from handaxe.curricula.in_order import in_order
from handaxe.methods.text_source import check_text_source, text_desk
from handaxe.papers.tool_star.difficulty_classes import CLASSES, difficulty_classes, sort_tasks, success_rates
from handaxe.papers.tool_star.hint_writer import write_hints
from handaxe.papers.tool_star.hinted_env import hinted
from handaxe.papers.tool_star.hinted_play import Plays, without_hint
from handaxe.training.sft.supervised import as_rated
from handaxe.training.stages.probe import get_task_pool
from handaxe.training.stages.sources import play_at
from handaxe.training.stages.teach import teach
from handaxe.worlds.parts.demonstrate import demonstrate

__all__ = ["direct_sample", "graded_start", "tool_samples"]

ANSWER = "answer"


def graded_start(
    *,
    plays: Plays,
    hints: str = "rule",
    direct_samples: bool = True,
    tasks: int = 128,
    samples: int = 4,
    most_calls: int = 5,
    groups: int = 32,
    learning_rate: float = 3e-4,
) -> Stage:
    """Make a stage: grade tasks by play, fine-tune on samples of both kinds, and keep the other tasks.

        each task of a `task_pool` is played without tools, and with tools and hints
        class direct   one correct rollout without tools is a lesson, in the environment with tools
        class tool     each correct rollout with at most `most_calls` calls is a lesson, without its hint
        class hard     no lesson
        the pool becomes the tasks of the classes tool and hard, from easy to hard

    Args:
        plays: turn limit -> rollout strategy.
        hints: who writes hints: rule, self, self@start, a model, or a chat server.
        direct_samples: learn from the class direct, too.
        tasks: number of graded tasks, the first of the pool, >= 1.
        samples: rollouts of a task without and with tools, >= 1.
        most_calls: beta, of a lesson; 5 in the paper, from memory.
        groups: tasks played side by side.
        learning_rate: of every step.

    Returns:
        A stage: the rows of `teach`, or one row without a lesson. Each has the shares class/direct, class/tool and
        class/hard, samples/direct (share of lessons without tools), and hints (share of tasks with a hint).

    Raises:
        InputError: a number out of range; the context's tasks are no `task_pool`; the reward has no channel "answer".

    Example:
        classes a direct, b tool (2 of 4 rollouts correct), c hard  ->  3 lessons; the pool is b, c

    Paper: arXiv:2505.16410 (Tool-Star), data synthesis: sampling with tools and hints, quality, classes of difficulty.
    Unconfirmed: the number of samples; beta.
    Differs: see `difficulty_classes`, `sort_tasks` and `hint_writer`.
    """
    check_text_source(hints, option="--hints")
    if tasks < 1 or samples < 1 or most_calls < 0:
        raise InputError(f"tasks {tasks}, samples {samples}, most_calls {most_calls}: give 1, 1 and 0 or more")

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = get_task_pool(site, "graded_start")
        chosen = list(pool.tasks)[:tasks]
        size = {"groups": groups, "group_size": samples}
        direct = _play(site, [replace(one, tools=()) for one in chosen], size, folder="direct")
        written, tool_groups = _with_hints(site, chosen, size, text_desk(hints, site, option="--hints"))
        with_tools = success_rates(tool_groups, channel=ANSWER)
        classes = difficulty_classes(success_rates(direct, channel=ANSWER), with_tools)
        whole = {one.id: one for one in chosen}
        easy = [(whole[id], one) for one in direct if classes.get(id := one.group.task.id) == "direct"]
        alone = [_direct(task, one, site, plays) for task, one in easy]
        lessons = [one for one in alone if one is not None and direct_samples]
        both = [one for one in tool_groups if classes.get(one.group.task.id) == "tool"]
        called = [lesson for one in both for lesson in tool_samples(one, site, plays, most_calls=most_calls)]
        pool.tasks = sort_tasks(chosen, classes, with_tools)
        found = {f"class/{name}": _share(classes, name) for name in CLASSES}
        found |= {"samples/direct": len(lessons) / max(len(lessons) + len(called), 1), "hints": written}
        source = [as_rated([one]) for one in (*lessons, *called)]
        rows = teach(source=lambda _: source, learning_rate=learning_rate, optional=True)(site)
        return [{**row, **found} for row in rows or [{}]]

    return stage


def direct_sample(one: RatedGroup) -> str | None:
    """The text of the first correct rollout without tools; None without one.

    Example:
        answers 0, 1, 1 with the texts "8", "7", "7"  ->  "7"

    Paper: arXiv:2505.16410 (Tool-Star), samples without tools for questions that need none.
    Differs: one a task.
    """
    value_G = np.nan_to_num(np.asarray(one.scores.channels[ANSWER], np.float64))
    return next((rollout.final_text for rollout, value in zip(one.group, value_G, strict=True) if value > 0.5), None)


def tool_samples(one: RatedGroup, site: StageContext, plays: Plays, *, most_calls: int = 5) -> list[Trajectory]:
    """The different correct rollouts with 1 to `most_calls` calls, without their hints.

    Example:
        two correct rollouts with equal turns, and one with six calls  ->  one sample

    Paper: arXiv:2505.16410 (Tool-Star), quality: too many calls and duplicates are dropped.
    Differs: nothing that is known.
    """
    value_G = np.nan_to_num(np.asarray(one.scores.channels[ANSWER], np.float64))
    found = dict[tuple[str, ...], Trajectory]()
    for rollout, value in zip(one.group, value_G, strict=True):
        if value > 0.5 and 0 < len(rollout.calls) <= most_calls:
            plain = without_hint(rollout, site, plays)
            if plain is not None and plain.calls:
                found.setdefault(tuple(str(message) for message in plain.messages), plain)
    return list(found.values())


def _play(site: StageContext, tasks: Sequence[Task], size: Mapping[str, int], *, folder: str) -> list[RatedGroup]:
    """Groups of each task; the last step may wrap to the first tasks, which are left out."""
    steps = -(-len(tasks) // size["groups"])
    arguments = {"steps": steps, **size, "tasks": in_order(tasks, shuffle=False)}
    found = dict[str, RatedGroup]()
    for one in play_at(site, arguments, folder=folder):
        found.setdefault(one.group.task.id, one)
    return list(found.values())


def _with_hints(
    site: StageContext, tasks: Sequence[Task], size: Mapping[str, int], desk: AskDesk | None
) -> tuple[float, list[RatedGroup]]:
    """Share of tasks with a hint, and groups of these tasks with tools and hints."""
    texts = write_hints(tasks, desk)
    able = [one for one in tasks if one.id in texts]
    here = site._replace(env=hinted(site.env, hint=lambda task: texts[task.id]))
    return len(able) / len(tasks), _play(here, able, size, folder="tools") if able else []


def _direct(task: Task, one: RatedGroup, site: StageContext, plays: Plays) -> Trajectory | None:
    """The sample without tools, played where the tools of the task are offered."""
    text = direct_sample(one)
    if text is None:
        return None
    made = demonstrate(
        site.env,
        task,
        lambda task, facts: Message("assistant", text),
        format=site.format,
        id=f"{task.id}/direct",
        seed=one.group[0].seed,
        rollout=plays(1),
    )
    return made if made.ending.kind == "completed" else None


def _share(classes: Mapping[str, str], name: str) -> float:
    return sum(one == name for one in classes.values()) / max(len(classes), 1)
