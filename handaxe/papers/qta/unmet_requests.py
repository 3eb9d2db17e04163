"""Labelled requests of the training: distinct ones whose raw form is not sufficient."""

from collections.abc import Sequence

from handaxe.core.records import Task

__all__ = ["unmet_requests"]


def unmet_requests(tasks: Sequence[Task], count: int) -> list[Task]:
    """Take the first `count` tasks of distinct requests whose raw form is not sufficient.

    Args:
        tasks: of `tool_queries`.
        count: number of labelled requests, >= 1.

    Returns:
        At most `count` tasks, in their order.

    Example:
        requests a, b, a, c and d with S@5 of 0, 1, 0, 0 and 0, count 2  ->  the first and fourth task

    Paper: arXiv:2410.03212 (QTA), 10 training samples of a subset.
    Differs: the paper's samples are not chosen by the retriever.
    """
    distinct: dict[str, Task] = {}
    for task in tasks:
        if not task.metadata["raw"]:
            distinct.setdefault(task.metadata["request"], task)
    return list(distinct.values())[:count]
