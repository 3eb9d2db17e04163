import json

import pytest

from handaxe.chat.runs import run_facts
from handaxe.cli import main
from handaxe.models.exporting.conversations import rendered_ids
from handaxe.models.load import load
from handaxe.training.record.run_record import RunRecord

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.hf


def test_a_run_becomes_a_folder_with_the_prompt_of_its_training(finished, tmp_path, capsys):
    out = tmp_path / "exported"
    assert main(["export", str(finished), "--out", str(out)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the same as in training in" in said and f"handaxe serve --model {out}" in said
    page = (out / "README.md").read_text()
    assert "- recipe: `otc`" in page and "- command: `handaxe train otc" in page
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(out)
    with RunRecord.open(finished) as record:
        attempts = record.trajectories(step=1)
    told = [tool["function"]["name"] for tool in json.loads((out / "tools.json").read_text())]
    assert told == [tool.name for tool in attempts[0].tools] == list(run_facts(finished).tools)
    for attempt in attempts:
        opening = attempt.sequences[0].ids[: attempt.turns[0].start].tolist()
        assert rendered_ids(tokenizer, attempt.task.messages, attempt.tools) == opening
    assert load(out).model.max_length == load(finished).model.max_length


@pytest.mark.parametrize(
    "words, message",
    [
        (["RUN", "--out", "FULL"], "holds something; name another folder"),
        (["RUN", "--out", "NEW", "--adapter"], "has no adapter"),
        (["EMPTY", "--out", "NEW"], "EMPTY"),
        (["RUN", "--out", "NEW", "--tools", "no_such_tool"], "no_such_tool"),
    ],
)
def test_what_is_wrong_is_one_line(words, message, finished, tmp_path, capsys):
    (tmp_path / "FULL").mkdir()
    (tmp_path / "FULL" / "mine").write_text("x")
    (tmp_path / "EMPTY").mkdir()
    places = {name: str(tmp_path / name) for name in ("FULL", "NEW", "EMPTY")} | {"RUN": str(finished)}
    assert main(["export", *(places.get(word, word) for word in words)]) == 2
    said = capsys.readouterr().err.strip()
    assert message in said and "Traceback" not in said
    assert not (tmp_path / "NEW").exists()
