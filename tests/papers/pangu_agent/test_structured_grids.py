import pytest

pytest.importorskip("minigrid")

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.pangu_agent.structured_grids import structured_grids
from handaxe.rollouts.in_roles import role_turns
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


def played(world, task, speaker=None, turns=12):
    rollout = world.make_rollout(turns)
    return demonstrate(world.env(world.tools), task, speaker or world.expert, format=Compact(), rollout=rollout)


def test_structured_grids_keep_the_world_contract():
    check_world(structured_grids(grids=60, astray=0.0), count=8)


def test_every_action_follows_a_thought_and_a_plan():
    world = structured_grids(astray=0.0, grids=60)
    task = world.tasks("train", 1, 0)[0]
    made = played(world, task)
    turns = role_turns(made)
    assert [one.role for one in turns] == ["think", "plan", "act"] * task.metadata["length"]
    assert made.ending.kind == "completed" and world.correct(Group(task, (made,))).outcome.tolist() == [1]
    for thought, plan, act in zip(turns[::3], turns[1::3], turns[2::3], strict=True):
        assert thought.text in ("key", "door", "goal") and act.calls[0].arguments["word"] == plan.text
    thoughts = [one.text for one in turns[::3]]
    assert thoughts[0] == "key" and sorted(thoughts, key=("key", "door", "goal").index) == thoughts


def test_a_function_reads_the_opening_and_its_memory():
    world = structured_grids(astray=0.0, grids=60)
    task = world.tasks("train", 1, 0)[0]
    made = played(world, task)
    opening, view = task.messages[0].content, task.messages[0].content.partition(". ")[2]
    turns = role_turns(made)
    shown = [Compact().decode(one.ids).partition("<ASSISTANT>")[0] for one in made.sequences[:4]]
    start = f"<SYSTEM>act(word)<END><USER>{opening}<END>"
    assert shown == [
        start,
        f"{start}<USER>plan: {view} | {turns[0].text}<END>",
        f"{start}<USER>act: {turns[1].text}<END>",
        f"{start}<USER>think: {turns[2].results[0]} | {turns[0].text} {turns[1].text}<END>",
    ]


def test_an_action_without_effect_keeps_the_last_view():
    world = structured_grids(astray=0.0, grids=60)
    task = world.tasks("train", 1, 0)[0]
    view = task.messages[0].content.partition(". ")[2]

    def idle(task, facts):
        action = world.expert(task, {**facts, "turn": 2})
        word = Message("assistant", "", (action.calls[0].__class__("act", {"word": "drop"}),))
        return word if facts["turn"] % 3 == 2 else Message("assistant", "drop")

    made = played(world, task, idle, turns=2)
    assert made.replies[0].status == "failed"
    assert f"think: {view} | drop drop<END>" in Compact().decode(made.sequences[3].ids)


def test_texts_end_nothing():
    world = structured_grids(grids=60)
    task = world.tasks("train", 1, 0)[0]
    made = played(world, task, lambda task, facts: Message("assistant", "goal"), turns=2)
    assert made.ending.reason == "turns" and len(made.turns) == 6
    assert world.correct(Group(task, (made,))).outcome.tolist() == [0]
