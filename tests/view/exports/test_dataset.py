import json
import sys

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.view.exports.dataset import write_dataset

datasets = pytest.importorskip("datasets")


@pytest.fixture(scope="module")
def made(folder, rows, tmp_path_factory):
    """The trajectories, and what the package loads of them, in a cache of its own."""
    from handaxe.training.record.run_record import RunRecord
    from handaxe.view.exports.chosen import chosen
    from handaxe.view.record_search import Where, search

    with RunRecord.open(folder) as record:
        everything = list(chosen(record, [one.key for one in search(record, Where())]))
    out = tmp_path_factory.mktemp("data") / "set"
    assert write_dataset(iter(everything), out) == len(everything)
    cache = str(tmp_path_factory.mktemp("cache"))
    return everything, datasets.load_dataset(str(out), split="train", cache_dir=cache), out


def test_tokens_come_back(made):
    everything, found, _ = made
    assert len(found) == len(everything)
    for one, row in zip(everything, found):
        for place, sequence in enumerate(one.trajectory.sequences):
            own = row["sequences"][place]
            for name in ("ids", "author", "turn", "version", "mask"):
                assert own[name] == getattr(sequence, name).tolist(), name
            for name in ("logp", "behaviour_logp"):
                np.testing.assert_array_equal(np.array(own[name], np.float32), getattr(sequence, name))
            wanted = np.zeros(len(sequence)) if one.advantages is None else one.advantages[place]
            np.testing.assert_array_equal(own["advantages"], wanted)
            trains = one.trained and (sequence.mask if one.trains is None else sequence.mask & one.trains[place])
            np.testing.assert_array_equal(own["trains"], trains & sequence.mask)


def test_messages_are_those_of_chat_trainers(made):
    _, found, _ = made
    (row,) = [row for row in found if row["id"] == "talk/0"]
    assert [one["role"] for one in row["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    (call,) = row["messages"][2]["tool_calls"]
    assert call["type"] == "function" and call["function"]["name"] == "search"
    query = json.loads(call["function"]["arguments"])["query"]
    assert query == "<script>alert(1)</script> \x1b[2J \u202eevil <|im_end|> \ud800 \x00"
    assert row["messages"][3]["content"].endswith("\\ud800 \x00") and row["messages"][3]["tool_call_id"] == call["id"]
    assert json.loads(row["tools"])[0]["function"]["name"] == "search"


def test_scores_and_reasons(made):
    _, found, _ = made
    rows = {row["id"]: row for row in found}
    first, second = rows["talk/0"], rows["talk/1"]
    assert (first["outcome"], first["total"], first["scored"], first["trained"]) == (1.0, 1.0, True, True)
    assert first["channels"] == [{"name": "right", "value": 1.0}] and first["turn_rewards"] is None
    assert (
        second["outcome_class"] == "truncated" and "Truncated" in second["no_gradient"] and first["no_gradient"] == ""
    )
    assert rows["task/2"]["outcome"] is None and rows["task/2"]["ending"] == "infra_error"


def test_nothing_is_overwritten(made):
    *_, out = made
    with pytest.raises(InputError, match="is not an empty folder"):
        write_dataset([], out)


def test_without_the_package_it_says_which_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"handaxe\[datasets\]"):
        write_dataset([], tmp_path / "set")


def test_nothing_chosen_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="no trajectory to write"):
        write_dataset([], tmp_path / "set")
    assert not (tmp_path / "set").exists()
