"""Make tasks of questions that a second policy writes: those that the policy is of two minds about."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import Rated, Task
from handaxe.papers.agent0.reinforce_second import with_policy_asked
from handaxe.papers.agent0.votes import proposal_of
from handaxe.training.loop.aux_policy import SecondPolicy
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.probe import tasks_of
from handaxe.training.stages.sources import play_at

__all__ = ["frontier", "frontier_of"]


def frontier(
    *,
    second: SecondPolicy,
    asks: str,
    low: float = 0.3,
    high: float = 0.8,
    allowed: Callable[[Task], bool] = lambda task: True,
    steps: int = 1,
    groups: int = 1,
    group_size: int = 32,
    arguments: Mapping[str, Any],
) -> Stage:
    """Make a stage that lets a second policy write questions and puts tasks made of them into a `task_pool`.

        a question is kept <=> low <= p <= high        p: share of the policy's answers that are the most frequent one
        its task: answer = that answer, metadata["score"] = p

    Neither policy trains. The questions, and the attempts at them, stand in the record of the stage, from which the
    pool is filled again on resume.

    Args:
        second: writes the questions; begins as the site's policy where it has no engine yet.
        asks: the name under which the rollout asks the run's own policy.
        low, high: 0.3 and 0.8 in the paper; where p is at the edge up to rounding, the question is kept.
        allowed: which questions may become tasks, such as those that are not held out.
        steps, groups, group_size: as of `train`.
        arguments: further ones of `train`; the rollout, which is to be `papers.agent0.proposing`, the reward and the
            tasks that the second policy is given at least.

    Returns:
        A stage: one row of metrics: questions written, readable ones (each text once), tasks kept, mean share and calls
        of the readable. Where no question is kept, the pool stays as it was.

    Raises:
        InputError: low above high; the site's tasks are no `task_pool`.

    Example:
        p 0.2, 0.3, 0.8, 0.9  ->  the second and third are kept

    Paper: arXiv:2511.16043 (Agent0), the data step.
    Differs: a question asked twice is one task, with the answers of its first time.
    """
    if low > high:
        raise InputError(f"low is {low} and high {high}; give low up to high")
    check_train_arguments(arguments)
    chosen = {"steps": steps, "groups": groups, "group_size": group_size, **arguments}

    def stage(site: StageContext) -> list[dict[str, float]]:
        pool = tasks_of(site, "frontier")
        second.begin(site.engine)
        given = with_policy_asked(site, asks, chosen)
        played = play_at(site._replace(engine=second.engine), given)
        written = [proposal_of(one) for rated in played for one in rated.group]
        asked = {one.question: one for one in reversed(written) if one.question}
        kept = frontier_of(played, low=low, high=high, allowed=allowed)
        if kept:
            pool.tasks = kept
        share = sum(one.share for one in asked.values()) / max(1, len(asked))
        calls = sum(one.calls for one in asked.values()) / max(1, len(asked))
        found = {"questions": len(written), "readable": len(asked), "tasks": len(kept), "share": share, "calls": calls}
        return [{"step": 0.0, **{name: float(value) for name, value in found.items()}}]

    return stage


def frontier_of(
    played: Iterable[Rated], *, low: float, high: float, allowed: Callable[[Task], bool] = lambda task: True
) -> list[Task]:
    """The tasks that are made of questions, in order; see `frontier`."""
    found: dict[str, Task] = {}
    for one in (trajectory for rated in played for trajectory in rated.group):
        said = proposal_of(one)
        if said.question and one.asked and said.answer and one.asked[0].task.id not in found:
            task = one.asked[0].task
            metadata = {**task.metadata, "score": said.share}
            found[task.id] = replace(task, answer=said.answer, metadata=metadata)
    inside = [one for one in found.values() if low - 1e-9 <= one.metadata["score"] <= high + 1e-9]
    return [one for one in inside if allowed(one)]
