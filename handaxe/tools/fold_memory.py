"""Tool with which a policy replaces the conversation so far by a summary.

Kept: the tool of `rollouts.folding`.
"""

from typing import Annotated

from handaxe.core.errors import Retry
from handaxe.tools.decorator import tool

__all__ = ["fold_memory"]


@tool(timeout=None)
def fold_memory(summary: Annotated[str, "what is done, what was found, what is left to do"]) -> str:
    """Fold your memory: from the next turn on you read the task and this summary, and nothing else of what was said.

    The tool itself does nothing: `rollouts.folding` looks for calls of it and begins anew.

    Raises:
        Retry: the summary is empty.

    Example:
        fold_memory("12*34 is 408; still to add 5") is "folded".
    """
    if not summary.strip():
        raise Retry("the summary is empty: write down what you need to go on")
    return "folded"
