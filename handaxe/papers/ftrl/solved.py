"""Which sub-questions of a task the replies of tools have solved.

    unsolved {"boss": ["luta"], "ally": ["dozo", "kemi"]}
    replies  boss -> "luta", ally -> "It is Kemi.", ally -> "kemi"
    solved   [True, True, False], and {"ally": ["dozo"]} is left

Idea: a tool whose result is known beforehand says by itself whether the right call was made.
"""

from collections.abc import Mapping, Sequence

from handaxe.core.errors import TaskError
from handaxe.core.records import Task, ToolReply

__all__ = ["Unsolved", "says", "solved_by", "unsolved_of"]

Unsolved = Mapping[str, Sequence[str]]
"""By tool, the results that are still to be got from it."""


def unsolved_of(task: Task) -> dict[str, list[str]]:
    """What a task keeps under "unsolved" in its metadata.

    Raises:
        TaskError: nothing, or something else.
    """
    found = task.metadata.get("unsolved")
    good = isinstance(found, Mapping) and all(
        isinstance(results, Sequence) and not isinstance(results, str) and all(isinstance(one, str) for one in results)
        for results in found.values()
    )
    if not isinstance(found, Mapping) or not good:
        raise TaskError(
            f'task {task.id!r} has {found!r:.80} as metadata "unsolved"; give {{tool: [result, ...]}}, {{}} for none'
        )
    return {str(tool): list(results) for tool, results in found.items()}


def solved_by(replies: Sequence[ToolReply], unsolved: Unsolved) -> tuple[list[bool], dict[str, list[str]]]:
    """Whether each reply solves a sub-question, each of which is solved once; and what is left then."""
    left = {tool: list(results) for tool, results in unsolved.items()}
    found = []
    for reply in replies:
        golds = left.get(reply.name, [])
        hit = next((gold for gold in golds if says(reply.content, gold)), None)
        found.append(hit is not None)
        if hit is not None:
            golds.remove(hit)
    return found, {tool: results for tool, results in left.items() if results}


def says(text: str, gold: str) -> bool:
    """Whether a text holds all parts of a result, which are divided by ", "; case and commas do not count."""
    plain = text.lower().replace(",", "")
    return all(part.lower().replace(",", "") in plain for part in gold.split(", "))
