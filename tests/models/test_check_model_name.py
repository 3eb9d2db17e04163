import re
import time

import pytest

from handaxe.core.errors import InputError
from handaxe.models.check_model_name import check_model_name
from handaxe.models.load import dummy_policy, load, load_format

KNOWN = ("tiny", "smollm2")


@pytest.fixture
def no_hub(monkeypatch, tmp_path):
    """Simulate an unreachable hub with an empty cache; return the list of requested names."""
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    requested = []

    def model_info(self, name, timeout):
        requested.append(name)
        raise OSError("Name or service not known\nsecond line")

    monkeypatch.setattr(hub.HfApi, "model_info", model_info)
    return requested


@pytest.mark.parametrize("function", [load, load_format, dummy_policy])
def test_misspelt_name_is_an_error_without_a_hub_request(function, no_hub):
    with pytest.raises(InputError, match="no model, folder or file is named 'smolm2'; did you mean smollm2?"):
        function("smolm2")
    with pytest.raises(InputError, match=r"no model, folder or file is named '\./models/mine'; pass .* a hub name"):
        function("./models/mine")
    assert no_hub == []


def test_possible_hub_name_is_requested_once(no_hub):
    message = (
        "no folder is named 'nobody/nothing', and looking the name up on the hub failed (Name or service not known); "
        "pass tiny, tiny_vision, small, smollm2, a folder or a hub name"
    )
    with pytest.raises(InputError, match=re.escape(message)):
        load("nobody/nothing")
    assert no_hub == ["nobody/nothing"]


def test_empty_folder_and_other_file_are_input_errors(tmp_path):
    with pytest.raises(InputError, match="no model in .*: the folder is empty"):
        check_model_name(tmp_path, KNOWN)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match=r"notes\.txt is a file, but not a \.gguf file"):
        check_model_name(tmp_path / "notes.txt", KNOWN)
    check_model_name(tmp_path, KNOWN)
    check_model_name("tiny", KNOWN)


def test_downloaded_model_needs_no_hub_request(no_hub, tmp_path):
    folder = tmp_path / "hub" / "models--smolm2"
    (folder / "snapshots" / "abc").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc")
    (folder / "snapshots" / "abc" / "config.json").write_text("{}")
    check_model_name("smolm2", KNOWN)
    assert no_hub == []


def test_unreachable_hub_fails_within_seconds(monkeypatch):
    """Guards against retries of the real client."""
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    start = time.monotonic()
    with pytest.raises(InputError, match="on the hub failed"):
        check_model_name("nobody/nothing-at-all", KNOWN)
    assert time.monotonic() - start < 30
