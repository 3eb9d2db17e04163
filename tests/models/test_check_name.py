import re
import time

import pytest

from handaxe.core.errors import InputError
from handaxe.models.check_name import check_name
from handaxe.models.load import load, load_format, stand_in

KNOWN = ("tiny", "smollm2")


@pytest.fixture
def no_hub(monkeypatch, tmp_path):
    """No hub to ask, as offline, and nothing that was downloaded."""
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    asked = []

    def model_info(self, name, timeout):
        asked.append(name)
        raise OSError("Name or service not known\nsecond line")

    monkeypatch.setattr(hub.HfApi, "model_info", model_info)
    return asked


@pytest.mark.parametrize("given", [load, load_format, stand_in])
def test_a_misspelt_name_is_told_without_asking_anybody(given, no_hub):
    with pytest.raises(InputError, match="there is no model 'smolm2', nor a folder .*; did you mean smollm2?"):
        given("smolm2")
    with pytest.raises(InputError, match=r"there is no model '\./models/mine', nor a folder or file .* a hub name"):
        given("./models/mine")
    assert no_hub == []


def test_a_name_that_may_be_the_hubs_is_asked_for_once(no_hub):
    message = (
        "there is no folder 'nobody/nothing', and the hub cannot be asked for a model of that name (Name or service "
        "not known); there are tiny, smollm2, a folder or a hub name"
    )
    with pytest.raises(InputError, match=re.escape(message)):
        load("nobody/nothing")
    assert no_hub == ["nobody/nothing"]


def test_a_folder_without_anything_and_a_file_that_is_no_model(tmp_path):
    with pytest.raises(InputError, match="there is no model in .*: the folder is empty"):
        check_name(tmp_path, KNOWN)
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(InputError, match=r"notes\.txt is a file, and no \.gguf file"):
        check_name(tmp_path / "notes.txt", KNOWN)
    check_name(tmp_path, KNOWN)
    check_name("tiny", KNOWN)


def test_what_was_downloaded_is_asked_of_nobody(no_hub, tmp_path):
    folder = tmp_path / "hub" / "models--smolm2"
    (folder / "snapshots" / "abc").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("abc")
    (folder / "snapshots" / "abc" / "config.json").write_text("{}")
    check_name("smolm2", KNOWN)
    assert no_hub == []


def test_the_answer_does_not_take_minutes(monkeypatch):
    """The real client, at a hub that is not there: a guard against its retries."""
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    began = time.monotonic()
    with pytest.raises(InputError, match="the hub cannot be asked"):
        check_name("nobody/nothing-at-all", KNOWN)
    assert time.monotonic() - began < 30
