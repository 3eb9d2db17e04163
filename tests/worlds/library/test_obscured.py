import pytest

from handaxe.core.errors import InputError
from handaxe.testing.worlds import check_world
from handaxe.worlds.library.entities import build_world
from handaxe.worlds.library.obscured import library_questions, obscured_tasks, task_question
from handaxe.worlds.library.tasks import tasks
from handaxe.worlds.library.world import library

pytest.importorskip("bm25s")
GIVEN = {"hops": (1, 2), "world": 0, "size": 200, "injections": (0, 1, 2), "blurs": 1, "known": 0.0}


def obscured(split, count=60, **options):
    return obscured_tasks(count=count, seed=options.pop("seed", 0), split=split, **{**GIVEN, **options})


def names_in(task):
    """Entities in question, answer and searches, by name."""
    world = build_world(seed=0, size=200)
    said = " ".join([task.messages[0].content, str(task.answer), *task.metadata["gold_documents"]])
    aliases = {entity.alias: name for name, entity in world.entities.items() if entity.alias}
    words = set(said.replace("?", " ").replace(".", " ").split())
    return (words & set(world.entities)) | {aliases[word] for word in words & set(aliases)}


def test_obscured_library_keeps_the_world_contract():
    check_world(library(injections=(1, 2), blurs=1, known=0.3, size=200, results=3), count=12)


def test_splits_share_no_entity():
    halves = [set().union(*map(names_in, obscured(split, seed=seed))) for split in ("train", "test") for seed in (0,)]
    train, test = build_world(seed=0, size=200).halves
    assert halves[0] <= set(train) and halves[1] <= set(test)


def test_reference_searches_find_the_described_entities():
    (find,) = library(size=200).tools
    for task in obscured("test", injections=(1, 2, 3)):
        gold = task.metadata
        assert len(gold["gold_documents"]) == len(gold["gold_calls"]) == gold["hops"] + gold["injections"]
        assert gold["gold_answers"][-1] == task.answer
        for name, call in zip(gold["gold_documents"], gold["gold_calls"], strict=True):
            if "k" in call["arguments"]:
                assert f"[{name}]" in find(**call["arguments"])


def test_questions_do_not_contain_the_answer():
    for task in obscured("train", injections=(1, 2, 3)):
        assert (
            f" {task.answer}"
            not in f" {task.messages[0].content.rstrip('?.')} ".replace("?", " ")[:-1].split(" of ", 1)[1]
        )


def test_questions_without_injections_stay_unchanged():
    base = {task.id: task for task in tasks(count=400, seed=0, hops=(1, 2), size=200)}
    made = obscured("train")
    assert {task.metadata["injections"] for task in made} == {0, 1, 2}
    for task in made:
        if not task.metadata["injections"]:
            assert task.messages == base[task.id.partition("-obscured")[0]].messages
    assert made == obscured("train") == obscured("train", count=90)[:60] != obscured("train", seed=1)
    plain = library(size=200).tasks("train", 30, 0)
    assert plain == tasks(count=30, seed=0, hops=(1, 2), size=200) and library(size=200).breakdown == ("hops",)


def test_questions_answerable_from_memory_are_dropped():
    questions = library_questions(world=0, size=200, known=0.8)
    assert all(
        not questions._direct(task_question(task, questions)) for task in obscured("train", injections=(0,), known=0.8)
    )


def test_invalid_arguments_raise():
    with pytest.raises(InputError, match="injections are 0 or more"):
        obscured("train", injections=(-1,))
    with pytest.raises(InputError, match="ask for less"):
        obscured("train", count=5, injections=(1,), known=1.0)
