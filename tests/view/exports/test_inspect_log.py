import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.view.exports.inspect_log import write_inspect

SHOWN = "<script>alert(1)</script> \\x1b[2J \\u202eevil <|im_end|> \\ud800 \\x00"  # as text, and in this order
inspect_log = pytest.importorskip("inspect_ai.log")


@pytest.mark.parametrize("suffix", [".eval", ".json"])
def test_inspect_reads_what_its_writer_wrote(everything, tmp_path, suffix):
    file = tmp_path / "logs" / f"run{suffix}"
    assert write_inspect(everything, file, title="first run", model="tiny") == 8
    log = inspect_log.read_eval_log(str(file))
    assert log.status == "success" and log.eval.task == "first run" and log.eval.model == "tiny"
    assert len({(one.id, one.epoch) for one in log.samples}) == len(log.samples) == 8
    first, second = [one for one in log.samples if one.id == "talk"]
    assert [message.role for message in first.messages] == ["system", "user", "assistant", "tool", "assistant"]
    (call,) = first.messages[2].tool_calls
    assert call.function == "search" and call.arguments["query"] == SHOWN
    assert first.messages[3].text == first.messages[4].text == SHOWN
    assert first.messages[3].tool_call_id == call.id and first.messages[3].error.type == "unknown"
    assert second.messages[3].error is None and second.messages[3].text == "408"
    assert first.scores["reward"].value == 1.0 and first.scores["channel right"].value == 1.0
    assert (first.scores["outcome"].value, second.scores["outcome"].value) == ("correct", "truncated")
    assert second.limit.type == "turn" and second.metadata["no_gradient"] == "truncated"
    assert first.metadata["advantage_by_turn"] == [0.5, 0.5] and first.metadata["step"] == 5
    assert [one.text for one in first.input] == ["Be brief.", "?"]
    died = [one for one in log.samples if one.error is not None]
    assert len(died) == 2 and all("died" in one.error.message for one in died) and "reward" not in died[0].scores
    means = {one.name: one.metrics["mean"].value for one in log.results.scores}
    assert means["channel right"] == pytest.approx((1 + 0 + 1 + 0 + 1 + 0) / 6)


def test_files_inspect_would_not_know_are_refused(everything, tmp_path):
    with pytest.raises(InputError, match=r"let it end in \.eval or \.json"):
        write_inspect(everything, tmp_path / "run.log", title="x")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        write_inspect(everything, tmp_path / "file" / "run.eval", title="x")


def test_without_the_package_it_says_which_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    with pytest.raises(InputError, match=r"handaxe\[inspect\]"):
        write_inspect([], tmp_path / "run.eval", title="x")
