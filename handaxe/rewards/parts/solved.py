"""Sub-questions of a task solved by tool replies.

    unsolved {"boss": ["luta"], "ally": ["dozo", "kemi"]}
    replies  boss -> "luta", ally -> "It is Kemi.", ally -> "kemi"
    solved   [True, True, False], and {"ally": ["dozo"]} is left

Idea: a tool with a known result reveals whether the right call was made.
"""

from collections.abc import Mapping, Sequence

from handaxe.core.errors import TaskError
from handaxe.core.records import Task, ToolReply

__all__ = ["Unsolved", "contains_result", "match_results", "read_unsolved"]

Unsolved = Mapping[str, Sequence[str]]
"""By tool, the results that are still missing."""


def read_unsolved(task: Task) -> dict[str, list[str]]:
    """Read the metadata "unsolved" of a task.

    Raises:
        TaskError: missing, or of another form.
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


def match_results(replies: Sequence[ToolReply], unsolved: Unsolved) -> tuple[list[bool], dict[str, list[str]]]:
    """Find replies with a missing result, each counted once, and the remaining results."""
    open_results = {tool: list(results) for tool, results in unsolved.items()}
    found = []
    for reply in replies:
        golds = open_results.get(reply.name, [])
        hit = next((gold for gold in golds if contains_result(reply.content, gold)), None)
        found.append(hit is not None)
        if hit is not None:
            golds.remove(hit)
    return found, {tool: results for tool, results in open_results.items() if results}


def contains_result(text: str, gold: str) -> bool:
    """Check that a text has all parts of a result, separated by ", "; case and commas are ignored."""
    plain = text.lower().replace(",", "")
    return all(part.lower().replace(",", "") in plain for part in gold.split(", "))
