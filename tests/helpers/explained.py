"""Rollouts of `explained_sums` with given texts."""

from handaxe.core.records import Message, Task, ToolReply
from handaxe.testing.make_records import make_trajectory

SUM = "4+7+3+5+1"
"""Gold lines: 4+7=11, 11+3=14, 14+5=19, 19+1=20."""
TASK = Task("t", (Message("user", f"{SUM}=?"),), "20", None, {"expression": SUM, "offered": "yes"})


def explained(text, *, calls=0, sample=0, status="ok", task=TASK):
    """A rollout with `calls` turns of one call, then the text."""
    turns = [["calculator"]] * calls + [[]]
    replies = [[ToolReply(f"{k}-0", "calculator", "11", status)] for k in range(calls)] + [[]]
    made = make_trajectory(texts=[""] * calls + [text], calls=turns, replies=replies)
    return type(made)(**{**vars(made), "task": task, "sample": sample, "id": f"t/{sample}"})
