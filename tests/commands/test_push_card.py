"""Text of a model card: paths, addresses and tokens are replaced, and secrets stop the upload."""

from pathlib import Path

import pytest

from handaxe.commands.push_card import check_no_secrets, public_text, rewrite_json
from handaxe.core.errors import InputError


@pytest.mark.parametrize(
    "text, public",
    [
        ("handaxe train grpo --out /home/me/runs/a --model smollm2", "handaxe train grpo --out a --model smollm2"),
        ("--world.file=/data/secret/tasks.jsonl", "--world.file=tasks.jsonl"),
        ("--tools '/a/b c/d'", "--tools 'b c/d'"),
        ("~/runs/x ./y/z ../q", "x z q"),
        ("user=http://me:pw@10.0.0.5:8000/v1#NAME", "user=URL"),
        ("--model Qwen/Qwen3-0.6B", "--model Qwen/Qwen3-0.6B"),
        ("C:\\Users\\me\\model", "model"),
        ("key hf_abcdefghijkl", "key TOKEN"),
        ("my_file:convert", "my_file:convert"),
    ],
)
def test_paths_addresses_and_tokens_are_replaced(text, public):
    assert public_text(text) == public


def test_existing_relative_path_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "private" / "model").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert public_text("--model private/model") == "--model model"


def test_json_files_lose_their_absolute_paths(tmp_path):
    (tmp_path / "config.json").write_text('{"_name_or_path": "/home/me/base", "n": 1, "list": ["/a/b", "text"]}')
    (tmp_path / "tokenizer.json").write_text('{"word": "/usr/bin"}')
    rewrite_json(tmp_path)
    config = (tmp_path / "config.json").read_text()
    assert '"_name_or_path": "base"' in config and '"b"' in config and '"text"' in config
    assert "/usr/bin" in (tmp_path / "tokenizer.json").read_text()


@pytest.mark.parametrize(
    "text, message",
    [
        ("my hf_abcdefghijkl", "a token"),
        ("token secret-secret-secret", "the token of the hub"),
        ("see /home/somebody/runs", "the path /home/somebody"),
    ],
)
def test_secret_stops_the_upload(tmp_path, text, message):
    (tmp_path / "README.md").write_text(text)
    with pytest.raises(InputError, match=f"README.md would contain {message}, so nothing was pushed"):
        check_no_secrets(tmp_path, token="secret-secret-secret", paths=[Path("/home/somebody")])
    (tmp_path / "README.md").write_text("nothing")
    check_no_secrets(tmp_path, token="secret-secret-secret", paths=[Path("/home/somebody")])
