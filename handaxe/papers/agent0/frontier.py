"""Stage that makes tasks of a proposer's questions with disagreeing answers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.protocols import Stage, StageContext
from handaxe.core.records import RatedGroup, Task
from handaxe.papers.agent0.reinforce_second import add_policy
from handaxe.papers.agent0.votes import read_proposal
from handaxe.training.loop.aux_policy import AuxLearner
from handaxe.training.loop.train_arguments import check_train_arguments
from handaxe.training.stages.probe import get_task_pool
from handaxe.training.stages.sources import play_at

__all__ = ["frontier", "uncertain_tasks"]


def frontier(
    *,
    second: AuxLearner,
    aux_name: str,
    low: float = 0.3,
    high: float = 0.8,
    accept: Callable[[Task], bool] = lambda task: True,
    steps: int = 1,
    groups: int = 1,
    group_size: int = 32,
    arguments: Mapping[str, Any],
) -> Stage:
    """Make a stage with questions from a second policy; uncertain questions fill a `task_pool`.

        a question is kept <=> low <= p <= high        p: share of the policy's answers that equal the majority answer
        its task: answer = majority answer, metadata["score"] = p

    Neither policy trains. The record of the stage has the questions and their solutions; on resume the pool is filled
    from it.

    Args:
        second: writes the questions; starts from the context's policy if it has no engine yet.
        aux_name: name of the aux policy by which the rollout reaches the run's own policy.
        low, high: bounds of p; 0.3 and 0.8 in the paper. A question with p at a bound up to rounding is kept.
        accept: filter of the questions that may become tasks, for instance those that are not held out.
        steps, groups, group_size: as of `train`.
        arguments: further arguments of `train`: at least the rollout (`papers.agent0.proposing`), the reward and the
            tasks of the second policy.

    Returns:
        A stage with one row of metrics: questions written, distinct readable questions, tasks kept, mean share and
        calls of the readable questions. If no question is kept, the pool stays as it is.

    Raises:
        InputError: low above high; the context's tasks are no `task_pool`.

    Example:
        p 0.2, 0.3, 0.8, 0.9  ->  the second and third are kept

    Paper: arXiv:2511.16043 (Agent0), the data step.
    Differs: a question written twice is one task, with the answers to its first copy.
    """
    if low > high:
        raise InputError(f"low is {low} and high {high}; give low up to high")
    check_train_arguments(arguments)
    chosen = {"steps": steps, "groups": groups, "group_size": group_size, **arguments}

    def stage(context: StageContext) -> list[dict[str, float]]:
        pool = get_task_pool(context, "frontier")
        second.begin(context.engine)
        resolved = add_policy(context, aux_name, chosen)
        played = play_at(context._replace(engine=second.engine), resolved)
        written = [read_proposal(one) for rated in played for one in rated.group]
        distinct = {one.question: one for one in reversed(written) if one.question}
        kept = uncertain_tasks(played, low=low, high=high, accept=accept)
        if kept:
            pool.tasks = kept
        share = sum(one.share for one in distinct.values()) / max(1, len(distinct))
        calls = sum(one.calls for one in distinct.values()) / max(1, len(distinct))
        found = {
            "questions": len(written),
            "readable": len(distinct),
            "tasks": len(kept),
            "share": share,
            "calls": calls,
        }
        return [{"step": 0.0, **{name: float(value) for name, value in found.items()}}]

    return stage


def uncertain_tasks(
    played: Iterable[RatedGroup], *, low: float, high: float, accept: Callable[[Task], bool] = lambda task: True
) -> list[Task]:
    """Make tasks of the uncertain questions of played groups, in order; see `frontier`."""
    found: dict[str, Task] = {}
    for one in (trajectory for rated in played for trajectory in rated.group):
        proposal = read_proposal(one)
        if proposal.question and one.aux_turns and proposal.answer and one.aux_turns[0].task.id not in found:
            task = one.aux_turns[0].task
            metadata = {**task.metadata, "score": proposal.share}
            found[task.id] = replace(task, answer=proposal.answer, metadata=metadata)
    inside = [one for one in found.values() if low - 1e-9 <= one.metadata["score"] <= high + 1e-9]
    return [one for one in inside if accept(one)]
