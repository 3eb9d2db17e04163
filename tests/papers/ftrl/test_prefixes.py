import pytest
from helpers.model_families import FAMILIES

from handaxe.core.errors import InputError
from handaxe.core.records import Author, Message, check
from handaxe.curricula.task_pool import task_pool
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.ftrl.prefixes import list_states, prefixes
from handaxe.papers.ftrl.toolchains import remaining_metadata, toolchains
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = toolchains(scenarios=("parallel chain",), spurious_rate=0.0, size=40)
ENV = WORLD.env(())
TASK = WORLD.tasks("train", 1, 0)[0]


def by_expert(attempt):
    """A rollout in which the expert speaks."""
    return [demonstrate(attempt.env, attempt.task, WORLD.expert, format=attempt.format, id=attempt.id)]
    yield


def test_every_turn_with_tool_replies_makes_a_state():
    played = demonstrate(ENV, TASK, WORLD.expert, format=Compact())
    made = list_states(played, remaining_metadata)
    assert [one.id for one in made] == [f"{TASK.id}@{k}" for k in range(3)]
    assert [one.metadata["opened"] for one in made] == [0, 1, 2]
    assert [one.metadata["solve_rate"] for one in made] == [0, 0.5, 1]
    assert [sum(map(len, one.metadata["unsolved"].values())) for one in made] == [4, 2, 0]
    assert [[m.role for m in one.messages] for one in made] == [
        ["user"],
        ["user", "assistant", "tool", "tool"],
        ["user", "assistant", "tool", "tool"] + ["assistant", "tool", "tool"],
    ]
    assert [m.content for m in made[2].messages] == [m.content for m in played.messages[:-1]]


def test_a_rollout_continues_from_a_state_and_its_opening_does_not_train():
    played = demonstrate(ENV, TASK, WORLD.expert, format=Compact())
    for one in list_states(played, remaining_metadata):
        again = demonstrate(ENV, one, WORLD.expert, format=Compact())
        check(again)
        assert again.final_text == TASK.answer and len(again.turns) == 3 - one.metadata["opened"]
        (row,), (whole,) = again.sequences, played.sequences
        assert row.ids.tolist() == whole.ids.tolist()
        opening = row.turn == -1
        assert not row.mask[opening].any() and Author.TEMPLATE in row.author[opening]
        assert int(row.mask.sum()) == sum(turn.stop - turn.start for turn in again.turns)
        ids = [call.id for message in again.messages for call in message.calls]
        assert len(set(ids)) == len(ids)


def test_a_turn_without_a_call_makes_no_state():
    played = demonstrate(ENV, TASK, lambda task, facts: Message("assistant", "hm"), format=Compact())
    assert [one.id for one in list_states(played, remaining_metadata)] == [f"{TASK.id}@0"]


def test_the_stage_replaces_tasks_by_states_and_a_second_round_replays_the_tasks(world, tmp_path):
    tasks, found = WORLD.tasks("train", 5, 0), []
    for options in ({}, {"out": tmp_path}, {"out": tmp_path, "resume": True}):
        site = world.site(tasks=task_pool(tasks), env=ENV, **options)
        stage = prefixes(state=remaining_metadata, most=4, groups=3, arguments={**world.PLAY, "rollout": by_expert})
        (row,) = stage(site)
        assert (row["tasks/before"], row["tasks"], row["opened"]) == (4, 12, 1)
        found.append(site.tasks.tasks)
    assert found[0] == found[1] == found[2]
    again = world.site(tasks=task_pool(found[0]), env=ENV)
    prefixes(state=remaining_metadata, arguments={**world.PLAY, "rollout": by_expert})(again)
    assert again.tasks.tasks == found[0]


@pytest.mark.hf
def test_states_of_a_hugging_face_format_open_with_untrained_context():
    """Whatever the chat format makes of earlier assistant messages, none of their tokens is the policy's."""
    pytest.importorskip("transformers")
    pytest.importorskip("mistral_common")
    format = ChatTemplate(FAMILIES["mistral"].make())
    played = demonstrate(ENV, TASK, WORLD.expert, format=format)
    state = list_states(played, remaining_metadata)[1]
    again = demonstrate(ENV, state, WORLD.expert, format=format)
    assert again.final_text == TASK.answer
    assert not again.sequences[0].mask[again.sequences[0].turn == -1].any()


def test_prefixes_rejects_invalid_arguments(world):
    with pytest.raises(InputError, match="most is 0"):
        prefixes(state=remaining_metadata, most=0)
    with pytest.raises(InputError, match=r"prefixes changes which tasks there are: .*task_pool"):
        prefixes(state=remaining_metadata, arguments=world.PLAY)(world.site())
