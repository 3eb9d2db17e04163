import json

import pytest
from helpers.vision_families import own_model

from handaxe.chat.run_facts import run_facts
from handaxe.cli import main
from handaxe.models.exporting.chat_messages import rendered_ids
from handaxe.models.load import load
from handaxe.training.record.run_record import RunRecord

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.hf


def test_exported_folder_renders_the_prompts_of_training(finished, tmp_path, capsys):
    out = tmp_path / "exported"
    assert main(["export", str(finished), "--out", str(out)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "equal to training in" in shown and f"handaxe serve --model {out}" in shown
    page = (out / "README.md").read_text()
    assert "- method: `otc`" in page and "- command: `handaxe train otc" in page
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(out)
    with RunRecord.open(finished) as record:
        rollouts = record.trajectories(step=1)
    names = [tool["function"]["name"] for tool in json.loads((out / "tools.json").read_text())]
    assert names == [tool.name for tool in rollouts[0].tools] == list(run_facts(finished).tools)
    for one in rollouts:
        opening = one.sequences[0].ids[: one.turns[0].start].tolist()
        assert rendered_ids(tokenizer, one.task.messages, one.tools) == opening
    assert load(out).model.max_length == load(finished).model.max_length


@pytest.mark.parametrize(
    "words, message",
    [
        (["RUN", "--out", "FULL"], "is not empty; name another folder"),
        (["RUN", "--out", "NEW", "--adapter"], "has no adapter"),
        (["EMPTY", "--out", "NEW"], "EMPTY"),
        (["RUN", "--out", "NEW", "--tools", "no_such_tool"], "no_such_tool"),
    ],
)
def test_wrong_arguments_are_one_line(words, message, finished, tmp_path, capsys):
    (tmp_path / "FULL").mkdir()
    (tmp_path / "FULL" / "mine").write_text("x")
    (tmp_path / "EMPTY").mkdir()
    places = {name: str(tmp_path / name) for name in ("FULL", "NEW", "EMPTY")} | {"RUN": str(finished)}
    assert main(["export", *(places.get(word, word) for word in words)]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error and "Traceback" not in error
    assert not (tmp_path / "NEW").exists()


@pytest.mark.slow
def test_a_family_whose_processor_counts_images_has_a_caution(tmp_path, capsys):
    own_model("llava_onevision").save(tmp_path / "model")
    assert main(["export", str(tmp_path / "model"), "--out", str(tmp_path / "out")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "18 conversations of 18" in shown and "other ids of a conversation with two images" in shown
