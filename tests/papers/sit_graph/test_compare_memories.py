import pytest

pytest.importorskip("tau2")
from helpers.embed_words import embed_words

from handaxe.core.records import ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.sit_graph.advised_env import ToolStep
from handaxe.papers.sit_graph.advised_orders import TOOLS, advised_orders, no_advice
from handaxe.papers.sit_graph.compare_memories import (
    OrderPlayer,
    fill_memory,
    play_online,
    steps_of,
    success_and_errors,
    wrong_tools,
)
from handaxe.papers.sit_graph.memories import GraphMemory
from handaxe.papers.sit_graph.tool_graph import StateToolGraph
from handaxe.testing.scripted_engine import ScriptedEngine

LOOK, CANCEL, BACK, ANSWER = TOOLS


class Follower(ScriptedEngine):
    """Agent that reads the conversation: it takes the suggested tool, and answers without a suggestion."""

    def __init__(self, world):
        tools = world.env(world.tools)(world.tasks("train", 1, 0)[0]).start()[1]
        super().__init__(Compact(), self.say, tools=tools)

    def say(self, text, turn):
        del turn
        asked = [part.split("<END>")[0] for part in text.split("<USER>")[1:]]
        order, _, words = next(one for one in reversed(asked) if one.startswith("#")).partition(" ")
        rest = text[text.rindex(f"{order} {words}") :]
        replies = [part.split("<END>")[0] for part in rest.split("<TOOL>")[1:]]
        if not replies:
            return ToolCall(LOOK, {"order_id": order})
        if len(replies) == 1:
            return ToolCall("summarize_state", {"summary": f"{replies[0].split()[0]} {words}"})
        if len(replies) > 2:
            return "done"
        found, hint = replies[0], rest.partition("noted")[2].partition("next ")[2].split("<END>")[0].split()
        if hint[:1] == [CANCEL]:
            return ToolCall(CANCEL, {"order_id": order, "reason": words if "?" not in words else "no longer needed"})
        if hint[:1] == [BACK]:
            items = found.split()
            return ToolCall(BACK, {"order_id": order, "item_ids": items[1:-1], "payment_method_id": items[-1]})
        return found.split()[0]


@pytest.fixture(scope="module")
def player():
    world = advised_orders(adviser=no_advice, requests=(1,))
    return OrderPlayer(Follower(world), Compact(), requests=(1,), max_turns=6)


def test_without_suggestions_the_follower_serves_questions_alone(player):
    tasks = advised_orders(adviser=no_advice, requests=(1,)).tasks("train", 20, 0)
    played = player.play(tasks, no_advice, seed=0)
    for one in played:
        asks = one.messages[0].content.endswith("?")
        assert player.succeeded(one) == asks
        assert wrong_tools(one) == (int(not asks), 1)
        assert [step.tool for step in steps_of(one)][:2] == [LOOK, ANSWER]
    success, wrong = success_and_errors(player, played)
    assert success == pytest.approx(1 - wrong) and 0 < success < 1


def test_a_graph_of_correct_conversations_serves_every_state(player):
    world = advised_orders(adviser=no_advice, requests=(1,))
    graph = StateToolGraph(embed_words)
    taught = [
        (LOOK, CANCEL, "pending no longer needed"),
        (LOOK, CANCEL, "pending ordered by mistake"),
        (LOOK, BACK, "delivered no longer needed"),
        (LOOK, BACK, "delivered ordered by mistake"),
        (LOOK, ANSWER, "pending status?"),
        (LOOK, ANSWER, "delivered status?"),
    ]
    for look, tool, summary in taught:
        graph.add([ToolStep(look), ToolStep(tool, summary)])
    played = player.play(world.tasks("test", 12, 0), GraphMemory(graph), seed=0)
    assert success_and_errors(player, played) == (1.0, 0.0)


def test_only_successful_conversations_join_a_memory(player):
    tasks = advised_orders(adviser=no_advice, requests=(1,)).tasks("train", 12, 0)
    memory = GraphMemory(StateToolGraph(embed_words))
    played = player.play(tasks, no_advice, seed=0)
    assert fill_memory(memory, played, player) == sum(player.succeeded(one) for one in played)
    assert memory.graph.weights(LOOK) == {ANSWER: 1.0}
    online = GraphMemory(StateToolGraph(embed_words))
    chunks = play_online(player, tasks, online, chunk=5, seed=0)
    assert [len(own) for own in chunks] == [5, 5, 2]
    assert online.graph.suggest("start") == (LOOK,)
