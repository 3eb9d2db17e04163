from helpers.embed_words import embed_words

from handaxe.core.records import Message, Task
from handaxe.papers.sit_graph.advised_env import ToolStep
from handaxe.papers.sit_graph.memories import GraphMemory, TrajectoryMemory
from handaxe.papers.sit_graph.tool_graph import StateToolGraph

LOOK, CANCEL, BACK = ToolStep("look"), ToolStep("cancel", "pending order"), ToolStep("return", "delivered order")


def task(text):
    return Task(text, (Message("user", text),))


def test_the_trajectory_memory_suggests_the_step_in_the_same_place():
    memory = TrajectoryMemory(embed_words)
    assert memory(task("a b"), (), "") == ()
    memory.add(task("a b"), [LOOK, CANCEL])
    memory.add(task("c d"), [LOOK, BACK])
    assert memory(task("a b e"), (), "") == ("look",)
    assert memory(task("a b e"), (LOOK,), "delivered order") == ("cancel",)
    assert memory(task("c d e"), (LOOK,), "pending order") == ("return",)
    assert memory(task("c d e"), (LOOK, BACK), "") == ()


def test_the_graph_memory_begins_at_the_start_and_reads_the_summary():
    memory = GraphMemory(StateToolGraph(embed_words))
    memory.add(task("a b"), [LOOK, CANCEL])
    memory.add(task("c d"), [LOOK, BACK])
    assert memory(task("x"), (), "") == ("look",)
    assert memory(task("a b"), (LOOK,), "delivered order")[0] == "return"
    assert memory(task("c d"), (LOOK,), "pending order")[0] == "cancel"
