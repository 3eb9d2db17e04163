import shutil

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.testing.tools import check_env, check_tool
from handaxe.tools.index.build_index import build_index
from handaxe.tools.index.search_index import open_index
from handaxe.tools.search import search

pytest.importorskip("bm25s")
LONG = " ".join(f"Sentence {i} speaks of bees." for i in range(60)) + " The queen was found in Brno."
DOCUMENTS = [
    {"id": "kemi", "text": "kemi lies on the river arn."},
    {"id": "bees", "title": "On bees", "text": LONG},
    {"id": "../../etc/passwd", "title": "A strange id", "text": "nothing of the kind"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build_index(DOCUMENTS, tmp_path_factory.mktemp("index"), dense=False)


def run(tool, **arguments):
    reply = tool.run(ToolCall(tool.schema.name, arguments, "c0"))
    return reply.status, reply.content


def test_search_and_open_give_the_example(folder):
    find, read = search(folder)
    assert find("which river is at kemi") == "[kemi] kemi lies on the river arn."
    assert read("kemi") == "[kemi] kemi lies on the river arn."


def test_tools_keep_the_contract(folder):
    find, read = search(open_index(folder))
    assert (find.schema.name, read.schema.name) == ("search", "open")
    check_tool(find, arguments={"query": "kemi", "k": 2})
    check_tool(read, arguments={"id": "kemi", "page": 1})
    check_env(tool_chat(search(folder)), Task("t", (Message("user", "where is kemi?"),)))


def test_snippet_shows_words_of_the_query(folder):
    find, _ = search(folder, snippet=80)
    (line,) = find("queen Brno", k=1).splitlines()
    assert line.startswith("[bees] On bees, page 3 of 3: ...") and line.endswith("The queen was found in Brno.")
    assert len(line.partition(": ")[2]) <= 80
    first, second = find("bees", k=2).splitlines()
    assert first.endswith("...") and second.startswith("[bees] On bees, page ")


def test_open_shows_pages(folder):
    _, read = search(folder)
    texts = [read("bees", page=n) for n in (1, 2, 3)]
    assert [text.partition(":")[0] for text in texts] == [f"[bees] On bees, page {n} of 3" for n in (1, 2, 3)]
    assert all(len(text) <= 800 + 40 for text in texts)
    assert "".join("".join(text.partition(": ")[2].split()) for text in texts) == "".join(LONG.split())
    assert read("bees", page=77) == texts[2] and read(" [bees] ", page=0) == texts[0]


def test_ids_are_no_paths(folder, tmp_path):
    _, read = search(folder)
    assert read("../../etc/passwd") == "[../../etc/passwd] A strange id: nothing of the kind"
    for key in ("/etc/passwd", "manifest.json", "..", "", str(folder / "manifest.json"), "kemi\x00", "kemi/../bees"):
        status, content = run(read, id=key)
        assert status == "retry" and "there is no document" in content


def test_bad_queries_and_ids_are_retry(folder):
    find, read = search(folder, max_results=2, results=1)
    assert run(find, query=" ") == ("retry", "the query is empty: say what to look for")
    assert run(find, query="x" * 501)[0] == "retry"
    assert run(find, query="xylophone") == ("retry", "nothing found for 'xylophone': try other words")
    assert run(read, id="kemis river") == ("retry", "there is no document 'kemis river'; did you mean kemi?")
    assert run(read, id="xylophone")[1].endswith(": take an id from the results of search")
    for k, lines in ((-5, 1), (0, 1), (1, 1), (2, 2), (99, 2)):
        assert len(find("bees", k=k).splitlines()) == lines


def test_invalid_arguments_raise(folder, tmp_path):
    for arguments in ({"results": 0}, {"results": 11}, {"snippet": 5}):
        with pytest.raises(InputError, match="results, max_results and snippet are"):
            search(folder, **arguments)
    with pytest.raises(InputError, match="no embeddings"):
        search(folder, way="hybrid")
    with pytest.raises(InputError, match="make one with build_index"):
        search(tmp_path)


def test_index_works_without_its_documents(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("one red fox")
    build_index(tmp_path / "texts", tmp_path / "index", dense=False)
    shutil.rmtree(tmp_path / "texts")
    assert search(tmp_path / "index")[0]("fox") == "[a.txt] a: one red fox"


def test_prefix_separates_two_indexes(folder):
    found = tool_chat([search(folder), search(folder, prefix="old_")])(Task("t", (Message("user", "go"),))).start()[1]
    assert [schema.name for schema in found] == ["search", "open", "old_search", "old_open"]
