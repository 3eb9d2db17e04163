"""`handaxe push` in a process of its own, against a hub in another process."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("huggingface_hub")
pytestmark = pytest.mark.hf
SERVER = Path(__file__).parents[1] / "helpers" / "hub_server.py"
TOKEN = "hf_goodgoodgood"


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hub")
    server = subprocess.Popen([sys.executable, str(SERVER), str(folder)], stdout=subprocess.PIPE, text=True)
    yield folder, f"http://127.0.0.1:{int(server.stdout.readline())}"
    server.kill()
    server.wait()


def push(endpoint, *words, token=TOKEN, **more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {
        "HF_ENDPOINT": endpoint,
        "HF_HOME": str(Path(words[0]).parent / "no-login"),
        **more,
    }
    if token:
        environment["HF_TOKEN"] = token
    command = [sys.executable, "-m", "handaxe", "push", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def one_line(done, code, message):
    assert done.returncode == code, done.stderr
    text = done.stderr.removesuffix("--debug shows the traceback\n")
    assert message in text and text.count("\n") == 1 and TOKEN not in done.stdout + done.stderr


@pytest.mark.slow
def test_pushed_repository_loads_and_its_card_has_the_results(finished, hub):
    folder, endpoint = hub
    done = push(endpoint, finished, "me/first", "--private")
    assert done.returncode == 0, done.stderr
    assert f"{endpoint}/me/first" in done.stdout
    asked = [line for line in (folder / "log").read_text().splitlines() if "/xet-" in line]
    assert asked == ["GET /api/models/me/first/xet-write-token/main"]  # the hub has no Xet: upload by LFS
    files = folder / "me" / "first"
    assert json.loads((files / ".private").read_text())["name"] == "first"
    assert {"README.md", "model.safetensors", "config.json", "tools.json"} <= {one.name for one in files.iterdir()}
    card = (files / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: transformers\n")
    for part in ("- method: `otc`", "- world: `arithmetic`", "- smooth: `2", "- steps: `2`", "4 held-out tasks"):
        assert part in card, part
    assert "| metric | before training | after training | difference |" in card and "| pass@1 | " in card
    assert "handaxe train otc --smooth 2" in card and "handaxe chat me/first" in card
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(files, trust_remote_code=True)
    assert model.config.model_type

    paths = [str(finished), str(finished.parent), str(Path.home()), str(Path.cwd())]
    for file in (one for one in files.iterdir() if one.suffix in (".md", ".json") and one.name != "tokenizer.json"):
        text = file.read_text()
        assert not [path for path in paths if path in text] and TOKEN not in text, file


@pytest.mark.slow
def test_existing_repository_needs_update(finished, hub):
    folder, endpoint = hub
    (folder / "me" / "taken").mkdir(parents=True)
    one_line(push(endpoint, finished, "me/taken"), 2, "the repository me/taken exists: --update adds a commit")
    assert not (folder / "me" / "taken" / "README.md").exists()
    assert push(endpoint, finished, "me/taken", "--update").returncode == 0
    assert (folder / "me" / "taken" / "README.md").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "repository, token, code, message",
    [
        ("me/a", "", 2, "there is no token for the hub: make a token with write permission"),
        ("me/a", "hf_wrongwrongwrong", 2, "refuses the token: make a token with write permission"),
        pytest.param("you/a", TOKEN, 2, "the token may not write to you/a: make a token", marks=pytest.mark.slow),
        pytest.param(
            "broken/a", TOKEN, 1, "the hub answers 500 for broken/a: the disk is full", marks=pytest.mark.slow
        ),
        ("a", TOKEN, 2, "'a' is no repository: give OWNER/NAME"),
        pytest.param("me/a--b", TOKEN, 2, "'me/a--b' is no repository: give OWNER/NAME", marks=pytest.mark.slow),
    ],
)
def test_refusal_is_one_sentence(finished, hub, repository, token, code, message):
    one_line(push(hub[1], finished, repository, token=token), code, message)


def test_hub_without_network_is_one_sentence(finished):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    one_line(push(address, finished, "me/a"), 1, f"the hub at {address} cannot be reached (")


@pytest.mark.slow
def test_dry_run_writes_the_files_and_needs_no_token(finished, tmp_path):
    done = push("http://127.0.0.1:9", finished, "me/a", "--dry-run", "--keep", tmp_path / "files", token="")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "files" / "README.md").exists()
    one_line(push("http://127.0.0.1:9", finished, "me/a", "--dry-run"), 2, "--keep FOLDER")


def test_folder_without_run_is_named(tmp_path, hub):
    one_line(push(hub[1], "smollm2", "me/a"), 2, "smollm2 is no run")
    one_line(push(hub[1], tmp_path / "missing", "me/a"), 2, "missing is no run")


@pytest.mark.slow
def test_unset_token_variable_is_named(finished, hub):
    one_line(push(hub[1], finished, "me/a", "--token-env", "NOT_SET"), 2, "variable NOT_SET is not set")
