"""Contract of task sources: the oracle scores 1, the empty answer scores 0."""

import json
from collections import Counter
from collections.abc import Callable, Sequence

from handaxe.core.check_tasks import check_tasks as check_types
from handaxe.core.errors import TaskError
from handaxe.core.records import Task

__all__ = ["check_tasks"]


def check_tasks(
    tasks: Sequence[Task], score: Callable[[Task, str], float], *, oracle: Callable[[Task], str] | None = None
) -> None:
    """Check ids, JSON form and solvability of tasks.

    Every task has a message with text, and one placeholder for each image; answer and metadata survive JSON, the
    oracle's answer scores 1, an empty answer 0, and scoring is deterministic.

    Args:
        tasks: of the source.
        score: (task, text of the answer) -> number.
        oracle: answer of a perfect policy; by default `str(task.answer)`.

    Raises:
        AssertionError: with every failing task and its problem.

    Example:
        check_tasks(arithmetic.tasks(count=20, seed=0), lambda task, text: float(text == task.answer))
    """
    if not tasks:
        raise AssertionError("there are no tasks")
    problems = [f"the id {i!r} is used {n} times" for i, n in Counter(task.id for task in tasks).items() if n > 1]
    for task in tasks:
        problems += [f"{task.id}: {problem}" for problem in _problems(task, score, oracle)]
    if problems:
        raise AssertionError("\n".join(problems))


def _problems(task: Task, score: Callable[[Task, str], float], oracle: Callable[[Task], str] | None) -> list[str]:
    problems = []
    try:
        check_types([task])
    except TaskError as error:
        problems.append(str(error))
    if not task.messages or not any(message.content.strip() for message in task.messages):
        problems.append("it has no text")
    facts = {"answer": task.answer, "metadata": dict(task.metadata)}
    try:
        if json.loads(json.dumps(facts)) != facts:
            problems.append("answer or metadata change on their way through JSON")
    except (TypeError, ValueError) as error:
        problems.append(f"answer or metadata are not JSON: {error}")
    if oracle is None and task.answer is None:
        return [*problems, "it has no answer: give an oracle"]
    best = str(task.answer) if oracle is None else oracle(task)
    first = score(task, best)
    if first != 1:
        problems.append(f"the oracle's answer {best[:60]!r} scores {first}")
    if score(task, best) != first:
        problems.append("the same answer scored differently")
    if (empty := score(task, "")) != 0:
        problems.append(f"the empty answer scores {empty}")
    return problems
