"""Questions are answerable by search, and a searching oracle answers them."""

import re

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolCall
from handaxe.testing.task_contract import check_tasks
from handaxe.tools.index.build_index import build_index
from handaxe.tools.search import search
from handaxe.worlds.library.tasks import PHRASINGS, library_documents, tasks

pytest.importorskip("bm25s")


def exact(task, text):
    return float(text == task.answer)


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    return search(build_index(library_documents(), tmp_path_factory.mktemp("library"), dense=False))


def question(task):
    text = task.messages[0].content
    for phrasing in PHRASINGS:
        before, after = phrasing.split("{0}")
        if text.startswith(before) and text.endswith(after) and before:
            return text[len(before) : len(text) - len(after)]
    return text.removesuffix("?")


def play(tools, task):
    """Oracle: resolve "the A of the B of x" from the inside, from replies alone."""
    find, read = tools
    *labels, name = question(task).removeprefix("the ").split(" of ")
    labels = [label.removeprefix("the ") for label in labels]
    for label in reversed(labels):
        for query in (f"{label} of {name}", name):
            shown = find.run(ToolCall("search", {"query": query, "k": 10})).content
            ids = [line[1:].partition("]")[0] for line in shown.splitlines()]
            texts = [read.run(ToolCall("open", {"id": key})).content for key in ids]
            own = [t for t in texts if re.search(rf"\] {name} is a \w+[,.]|, also called {name}\.", t)]
            if own:
                break
        (fact,) = re.findall(rf"\. {label}: (\w+)\.", own[0])
        name = fact
    return name


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_searching_oracle_answers_every_question(tools, split):
    made = tasks(count=200, seed=0, split=split)
    check_tasks(made, exact)
    assert [play(tools, task) for task in made] == [task.answer for task in made]


def test_one_hop_needs_one_search(tools):
    made = tasks(count=300, seed=1, hops=(1,))
    shown = [tools[0](task.messages[0].content) for task in made]
    share = sum(bool(re.search(rf": {task.answer}\.", text)) for task, text in zip(made, shown)) / len(made)
    assert share > 0.97
    more = tasks(count=300, seed=1, hops=(2, 3, 4))
    shown = [tools[0](task.messages[0].content) for task in more]
    assert sum(bool(re.search(rf": {task.answer}\.", text)) for task, text in zip(more, shown)) / len(more) < 0.15


def test_gold_calls_find_gold_documents(tools):
    texts = {document["id"]: document["text"] for document in library_documents()}
    for task in tasks(count=200, seed=2):
        gold = task.metadata
        assert gold["hops"] == len(gold["path"]) == len(gold["gold_documents"]) == len(set(gold["gold_documents"]))
        assert gold["gold_answers"][-1] == task.answer and gold["gold_answers"][:-1] == gold["gold_documents"][1:]
        for label, key, answer in zip(gold["path"], gold["gold_documents"], gold["gold_answers"]):
            assert f" {label}: {answer}." in texts[key]
        for call, key in zip(gold["gold_calls"], gold["gold_documents"]):
            assert call["name"] == "search"
            assert f"[{key}]" in tools[0](call["arguments"]["query"], k=10)


def test_documents_are_short_ascii_and_findable():
    made = library_documents(size=100)
    assert made == library_documents(size=100) and made != library_documents(size=100, seed=1)
    assert [d["id"] for d in made] == sorted({d["id"] for d in made}) and len(made) == 125
    for document in made:
        assert document["text"].isascii() and document["text"] == document["text"].lower()
        assert len(document["text"]) <= 200 and document["text"].count("\n") == 0


def test_splits_share_no_fact():
    facts = [
        {(key, label) for seed in range(3) for task in tasks(count=400, seed=seed, split=split)
         for key, label in zip(task.metadata["gold_documents"], task.metadata["path"])}
        for split in ("train", "test")
    ]  # fmt: skip
    assert not {key for key, _ in facts[0]} & {key for key, _ in facts[1]}


def test_seed_and_hops_determine_tasks():
    assert tasks(count=20, seed=3) == tasks(count=20, seed=3) == tasks(count=40, seed=3)[:20]
    assert tasks(count=20, seed=3) != tasks(count=20, seed=4)
    assert {task.metadata["hops"] for task in tasks(count=100, seed=0)} == {1, 2, 3, 4}
    assert {task.metadata["hops"] for task in tasks(count=20, seed=0, hops=(3,))} == {3}
    aliases = [t for t in tasks(count=400, seed=0) if t.metadata["start"] != t.metadata["gold_documents"][0]]
    assert 10 < len(aliases) < 80
    assert tasks(count=1, seed=0, tools=("search",))[0].tools == ("search",)


def test_invalid_arguments_raise():
    with pytest.raises(TaskError, match="empty"):
        tasks(count=0, seed=0)
    for arguments in ({"split": "dev"}, {"hops": ()}, {"hops": (5,)}, {"phrasings": ()}, {"size": 3}):
        with pytest.raises(InputError):
            tasks(count=1, seed=0, **arguments)
