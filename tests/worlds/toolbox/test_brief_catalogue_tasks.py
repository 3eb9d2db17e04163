import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")
pytest.importorskip("jsonschema")

from handaxe.worlds.toolbox.brief_catalogue_tasks import brief_catalogue, brief_tasks
from handaxe.worlds.toolbox.catalogue import function_split


def test_brief_tools_have_short_names_and_one_key_each():
    catalogue = brief_catalogue()
    assert len(catalogue) == len({one.text for one in catalogue.entries.values()}) > 200
    for entry in catalogue.entries.values():
        assert [one.name for one in catalogue.find(entry.text, 5)] == [entry.name]
        assert entry.shown.split()[0] == entry.name and entry.shown.split()[1:] in (["a"], ["a", "b"])


@pytest.mark.parametrize("split", ["train", "test"])
def test_a_brief_chain_names_keys_and_numbers_in_order(split):
    catalogue = brief_catalogue()
    for task in brief_tasks(catalogue, lengths=(1, 2, 5), split=split, count=30, seed=0):
        result = None
        parts = task.messages[0].content.split(", ")
        assert len(parts) == task.metadata["length"]
        for part, step in zip(parts, task.metadata["steps"]):
            key, *words = part.split()
            values = [result if word == "*" else int(word) for word in words]
            assert key == step["query"] and list(step["arguments"].values()) == values
            assert function_split(step["function"]) == split
            assert words.count("*") == (result is not None)
            assert catalogue.call(step["name"], step["arguments"]).content == str(step["value"])
            result = step["value"]
        assert task.answer == str(result)
