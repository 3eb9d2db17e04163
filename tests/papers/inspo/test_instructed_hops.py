import random
from dataclasses import replace

import pytest

from handaxe.core.records import Group, Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.inspo.instructed_hops import (
    ADVICE,
    CUES,
    NEUTRAL,
    draw_instruction,
    instructed_hops,
    prompt_tags,
    read_cues,
)
from handaxe.testing import check_world
from handaxe.testing.make_records import make_task, make_trajectory
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("bm25s")
WORLD = instructed_hops(lengths=(3,), prompts=True)
BEST = "Use search. Search to the end. Name what is left."


def played(prompt, count=4):
    """Demonstrations under a prompt, and their mean outcome."""
    made, outcomes = [], []
    for task in WORLD.tasks("train", count, 0):
        own = replace(task, messages=(Message("system", prompt), task.messages[-1]))
        one = demonstrate(WORLD.env(WORLD.tools), own, WORLD.expert, format=Compact())
        made.append(one)
        outcomes += WORLD.correct(Group(own, (one,))).outcome.tolist()
    return made, sum(outcomes) / count


def test_the_world_without_prompts_keeps_the_contract():
    check_world(instructed_hops(), count=8)


def test_the_expert_follows_each_sentence():
    for sentence in CUES["search"]["no"]:
        rollouts, share = played(sentence)
        assert share == 0 and not any(one.calls for one in rollouts)
    for sentence in CUES["depth"]["one"]:
        rollouts, share = played(f"Use search. {sentence}")
        assert share == 0 and [len(one.calls) for one in rollouts] == [1] * 4
    for sentence in CUES["depth"]["all"]:
        rollouts, share = played(f"{sentence} Use search.")
        assert share == 1 and [len(one.calls) for one in rollouts] == [3] * 4
        assert not any(turn.parsed.text for one in rollouts for turn in one.turns[:-1])
    for sentence in CUES["notes"]["yes"]:
        rollouts, share = played(f"Use search. Search to the end. {sentence}")
        assert share == 1 and all(turn.parsed.text for one in rollouts for turn in one.turns[:-1])


def test_without_a_sentence_a_demonstration_draws_its_behaviour():
    rollouts, share = played(NEUTRAL, count=40)
    calls = [len(one.calls) for one in rollouts]
    assert 0 < share < 0.5 and {0, 1, 3} == set(calls)
    assert 10 <= calls.count(0) <= 30


def test_training_tasks_have_prompts_and_held_out_tasks_have_none():
    train, test = WORLD.tasks("train", 60, 0), WORLD.tasks("test", 20, 0)
    assert {len(task.messages) for task in test} == {1} and {len(task.messages) for task in train} == {1, 2}
    prompts = {task.messages[0].content for task in train if len(task.messages) == 2}
    assert len(prompts) > 30 and NEUTRAL in {draw_instruction(random.Random(k)) for k in range(200)}


def test_the_last_sentence_of_an_aspect_decides():
    assert read_cues("Use search. Be quick. Keep a list.") == {"search": "no", "notes": "yes"}
    assert read_cues("Be quick. Use search.") == {"search": "yes"} and read_cues(NEUTRAL) == {}
    for aspect, behaviours in CUES.items():
        for behaviour, sentences in behaviours.items():
            assert all(read_cues(one) == {aspect: behaviour} for one in sentences)


def test_the_advice_against_every_tag_is_the_best_prompt():
    assert " ".join(ADVICE.values()) == BEST and len(read_cues(BEST)) == 3


def test_prompt_tags_name_the_first_thing_that_failed():
    task = make_task(question="4071 boss ally?")
    assert prompt_tags(make_trajectory(task=task, texts=["4071"])) == ("no call",)
    (rollout,), _ = played("Use search. Search once.", count=1)
    assert prompt_tags(rollout) == ("few searches", "no notes")
    (rollout,), _ = played("Use search. Search to the end.", count=1)
    assert prompt_tags(rollout) == ("no notes",)
    (rollout,), _ = played(BEST, count=1)
    assert prompt_tags(rollout) == ("wrong",)
