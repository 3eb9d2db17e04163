import json
import os
import subprocess
import sys
import types

import pytest

import handaxe
from handaxe.cli import COMMANDS, main
from handaxe.core.errors import InputError, TrainingError
from handaxe.methods.catalog import list_methods


def handaxe_(*words, **more):
    code = "import sys; from handaxe.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, **more)


def test_process_prints_version_errors_and_exit_codes():
    assert handaxe_("--version").stdout == f"handaxe {handaxe.__version__}\n"
    unknown = handaxe_("trian")
    assert (unknown.returncode, unknown.stderr) == (2, "error: there is no command 'trian'; did you mean train?\n")
    assert handaxe_("methods").returncode == 0
    missing = handaxe_("show", "/nowhere/at/all")
    assert missing.returncode == 2 and missing.stderr.startswith("error: there is no run record in /nowhere/at/all")
    assert "Traceback" not in missing.stderr and missing.stderr.count("\n") == 1


def test_debug_shows_the_traceback():
    shown = handaxe_("show", "/nowhere/at/all", "--debug")
    assert shown.returncode == 2 and "Traceback" in shown.stderr and "error: there is no run" in shown.stderr


EARLY = [
    (["show", "runs/nowhere"], "there is no run record in runs/nowhere"),
    (["resume", "nowhere"], "there is no run record in nowhere"),
    (["replay", "nowhere"], "there is no run record in nowhere"),
    (["report", "nowhere"], "nowhere"),
    (["trajectories", "nowhere"], "there is no run record in nowhere"),
    (["lab", "nowhere"], "there is no run record in nowhere"),
    (["lab", "--attack", "mine"], "mine is no method: choose a world"),
    (["train", "grop"], "there is no method 'grop'; did you mean grpo"),
    (["train", "grpo", "--base", "dap"], "there is no method 'dap'; did you mean dapo"),
    (["train", "grpo", "--world", "arithmetics"], "there is no world 'arithmetics'; did you mean arithmetic"),
    (["train", "grpo", "--engine", "locale"], "there is no engine 'locale'; did you mean local"),
    (["train", "grpo", "--stepz", "3"], "Unrecognized options: --stepz"),
    (["train", "grpo", "--steps", "three"], "invalid"),
    (["train", "grpo", "--steps", "-1"], "--steps is -1; give 0 or more"),
    (["train", "grpo", "--schedule", "cosine", "--warmup", "30"], "--warmup 30 leaves no step for the decay"),
    (["train", "grpo", "--stop-when", "pass@1"], "'pass@1' is no condition"),
    (["train", "grpo", "--stop-when", "training/rewart>1"], "did you mean training/reward"),
    (["train", "grpo", "--patience", "2"], "--patience needs evaluations between steps: add --eval-every N"),
    (["train", "grpo", "--model", "smolm2"], "no model, folder or file is named 'smolm2'; did you mean smollm2"),
    (["train", "grpo", "--json", "/"], "/ cannot be written"),
    (["train", "grpo", "--out", "/dev/null"], "is a file; name another one"),
    (["train", "grpo", "--trainers", "-1"], "--trainers -1"),
    (["train", "--config", "none.toml"], "none.toml cannot be read"),
    (["doctor", "grop"], "there is no method 'grop'"),
    (["doctor", "grpo", "--seconds", "0"], "--seconds is 0"),
    (["compare", "grpo"], "1 sides and 4 seeds"),
    (["compare", "grpo", "dap"], "there is no method 'dap'"),
    (["replicate", "grop"], "there is no method 'grop'"),
    (["replicate", "otc", "--seeds", "1"], "--seeds is 1; claims are decided at"),
    (["replicate", "otc", "--stepz", "1"], "Unrecognized options: --stepz"),
    (["compare", "grpo", "dapo --stepz 1"], "Unrecognized options: --stepz"),
    (["compare", "grpo", "otc", "--steps", "three"], "invalid"),
    (["train", "grpo", "--tools", "hammer"], "there is no tool 'hammer'"),
    (["train", "grpo", "--lora", "4"], "tiny is a tiny model, without support for LoRA"),
    (["train", "grpo", "--model", "start", "--lora", "4"], "--model start is a tiny policy without adapters"),
    (["train", "grpo", "--dtype", "bfloat16"], "tiny is a tiny model of float32 weights"),
    (["train", "grpo", "--aux-policies", "user"], "write NAME=MODEL"),
    (["train", "grpo", "--world", "jsonl", "--world.file", "none.jsonl"], "there is no file 'none.jsonl'"),
    (["train", "small_task_set", "--curriculum", "in_order"], "has a curriculum of its own"),
    (["train", "otc", "--smooth", "-1"], "--smooth: fewer_calls has smooth=-1.0"),
    (
        ["train", "grpo", "--quantize", "4bit", "--lora", "4", "--model", "smollm2", "--servers", "1"],
        "leave --trainers",
    ),
    (["doctor", "grpo", "--tools", "hammer"], "there is no tool 'hammer'"),
    (["eval", "nowhere"], "there is no run record in nowhere"),
    (["eval", "tiny"], "no method made tiny"),
    (["eval", "tiny", "--benchmark", "nowhere"], "there is no benchmark 'nowhere'; there are bfcl, "),
    (["eval", "tiny", "--benchmark", "bfcl", "--max-turns", "3"], "fixes its tasks and limits: leave --max-turns out"),
    (["eval", "tini", "--benchmark", "bfcl"], "did you mean tiny"),
    (["eval", "http://127.0.0.1:1/v1", "--benchmark", "bfcl"], "write the model behind the address"),
    (["eval", "tiny", "--world", "arithmetics"], "there is no world 'arithmetics'"),
    (["eval", "tiny", "--world", "arithmetic", "--tools", "hammer"], "there is no tool 'hammer'"),
    (["eval", "tiny", "--world", "arithmetic", "--samples", "0"], "--samples is 0; give 1 or more"),
    (["eval", "tiny", "--world", "arithmetic", "--server", "http://127.0.0.1:1/v1"], "--server needs --server-model"),
    (["chat", "smolm2", "hello", "--tools", "none"], "did you mean smollm2"),
    (["chat", "tiny", "hello"], "the tools are unknown"),
    (["chat", "tiny", "hello", "--tools", "hammer"], "there is no tool 'hammer'"),
    (["chat", "tiny", "hello", "--max-turns", "0"], "max_turns is 0"),
    (["export", "smolm2", "--out", "new"], "did you mean smollm2"),
    (["export", "tiny", "--out", "/dev/null"], "/dev/null exists and is not empty"),
    (["export", "tiny", "--out", "new", "--tools", "hammer"], "there is no tool 'hammer'"),
    (["start", "arithmetics", "--out", "new"], "there is no world 'arithmetics'"),
    (["start", "arithmetic", "--out", "/dev/null"], "is a file; name another one"),
    (["start", "arithmetic", "--out", "new", "--model", "smolm2"], "did you mean smollm2"),
    (["start", "arithmetic", "--out", "new", "--lora", "4"], "tiny is a tiny model, without support for LoRA"),
    (["start", "arithmetic", "--out", "new", "--max-tokens", "0"], "--max-tokens is 0; give 1 or more"),
    (["start", "arithmetic", "--out", "new", "--context", "5"], "--context 5 is below the 512 tokens"),
    (["serve", "--model", "smolm2"], "did you mean smollm2"),
    (["serve", "--model", "tiny", "--port", "99999"], "port 99999 is not valid"),
    (["push", "nowhere", "me/mine"], "nowhere is no run"),
    (["papers", "--root", "nowhere"], "nowhere is not a checkout of handaxe"),
    (["bias", "--root", "nowhere"], "nowhere is not a checkout of handaxe"),
    (["study", "nothing"], "there is no study 'nothing'"),
    (["judge", "eval", "--no-such-option"], "--no-such-option"),
    (["judge", "eval", "--judge", "rule", "--bench", "stepz"], "there is no bench 'stepz'"),
    (["index", "nowhere", "--out", "new"], "there are no documents at 'nowhere'"),
    (["view", "nowhere"], "there is no folder nowhere"),
    *(
        ([name, "--no-such-option"], "--no-such-option")
        for name in ("quickstart", "methods", "papers", "bias", "serve")
    ),
]


EACH = """
import contextlib, io, json, sys
from handaxe.cli import main
for words in json.loads(sys.argv[1]):
    shown = io.StringIO()
    with contextlib.redirect_stderr(shown), contextlib.redirect_stdout(shown):
        code = main(words)
    print(json.dumps([code, "torch" in sys.modules, shown.getvalue()]))
"""


@pytest.fixture(scope="module")
def early(tmp_path_factory):
    """Command line -> exit code, True if torch was imported, and text; all in one process."""
    lines = [words for words, _ in EARLY]
    command = [sys.executable, "-c", EACH, json.dumps(lines)]
    environment = {**os.environ, "COLUMNS": "200"}
    folder = tmp_path_factory.mktemp("early")
    shown = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=True).stdout
    return {" ".join(words): json.loads(line) for words, line in zip(lines, shown.splitlines(), strict=True)}


@pytest.mark.parametrize(("words", "message"), EARLY, ids=lambda one: " ".join(one) if isinstance(one, list) else "")
def test_error_of_a_command_line_appears_before_torch_is_imported(words, message, early):
    code, imported, shown = early[" ".join(words)]
    assert message in shown and (code, imported) == (2, False)


SOME_WORDS = {
    **{name: ["nowhere"] for name in ("resume", "eval", "chat", "show", "report", "trajectories", "replay")},
    "start": ["arithmetic", "--out", "new"],
    "export": ["nowhere", "--out", "new"],
    "push": ["nowhere", "me/mine"],
    "index": ["nowhere", "--out", "new"],
    "replicate": ["otc"],
    "compare": ["grpo", "otc"],
    "judge": ["show", "nowhere"],
    "synthesize": ["show", "nowhere"],
}
"""Required words of commands."""
FOUND = """
import sys
from handaxe.methods.lookup import find, list_names
for kind in ("methods", "worlds", "curricula"):
    for name in list_names(kind):
        find(kind, name)
        assert "torch" not in sys.modules, f"{kind} {name} imports torch: use handaxe.core.deferred"
"""


def test_no_method_world_or_curriculum_imports_torch():
    """Options are read from signatures; torch takes seconds and is imported when a method is applied."""
    subprocess.run([sys.executable, "-c", FOUND], check=True)


@pytest.mark.slow
def test_wrong_option_of_every_method_and_command_is_reported_before_torch_is_imported(tmp_path):
    """One process for all command lines."""
    faults = (["--no-such-option", "3"], ["--steps", "three"])
    lines = [["train", one.name, *fault] for one in list_methods() for fault in faults]
    lines += [["doctor", one.name, "--steps", "three"] for one in list_methods()[::10]]
    lines += [
        [name, *SOME_WORDS.get(name, ()), "--no-such-option"] for name in COMMANDS if name not in ("train", "doctor")
    ]
    command = [sys.executable, "-c", EACH, json.dumps(lines)]
    environment = {**os.environ, "COLUMNS": "200"}
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=True).stdout
    for words, line in zip(lines, shown.splitlines(), strict=True):
        code, imported, text = json.loads(line)
        assert (code, imported) == (2, False), words
        assert "--no-such-option" in text or "--steps" in text, words


def test_help_lists_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    assert main([]) == 2


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "train"])
def test_every_command_has_help_and_refuses_unknown_options(name, capsys):
    assert main([name, "--help"]) == 0
    assert f"handaxe {name}" in capsys.readouterr().out
    assert main([name, "--no-such-option"]) == 2


def fail_with(monkeypatch, error):
    def run(arguments):
        raise error

    monkeypatch.setitem(sys.modules, "handaxe.commands.methods", types.SimpleNamespace(main=run))
    return main(["methods"])


@pytest.mark.parametrize(("error", "code"), [(InputError("a\x1b[2Jb"), 2), (TrainingError("a\x1b[2Jb"), 1)])
def test_handaxe_error_is_one_line_with_an_exit_code(error, code, monkeypatch, capsys):
    assert fail_with(monkeypatch, error) == code
    shown = capsys.readouterr().err
    assert shown.startswith("error: a\\x1b[2Jb\n") and "\x1b" not in shown
    assert ("--debug" in shown) == (code == 1)


def test_ctrl_c_exits_with_130(monkeypatch, capsys):
    assert fail_with(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == "error: stopped\n"


def test_errors_outside_the_users_code_keep_their_traceback(monkeypatch):
    monkeypatch.setitem(sys.modules, "handaxe.commands.methods", types.SimpleNamespace(main=int))
    with pytest.raises(TypeError):
        main(["methods"])


def test_an_error_in_the_users_code_is_one_line_with_its_place(monkeypatch, capsys):
    assert fail_with(monkeypatch, ZeroDivisionError("a\x1b[2Jb")) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"error: {__file__}, line ") and first.endswith(", in run: ZeroDivisionError: a\\x1b[2Jb")
    assert second == "--debug shows the traceback"


def test_debug_keeps_the_traceback_of_the_users_code(monkeypatch):
    def run(arguments):
        raise ZeroDivisionError

    monkeypatch.setitem(sys.modules, "handaxe.commands.methods", types.SimpleNamespace(main=run))
    with pytest.raises(ZeroDivisionError):
        main(["methods", "--debug"])


@pytest.mark.slow
def test_closed_pipe_is_no_error():
    code = "import sys; from handaxe.cli import main; sys.exit(main(['methods']))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    _, errors = process.communicate()
    assert b"Traceback" not in errors


@pytest.mark.parametrize(
    ("given", "found"),
    [({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "passive"}, "None")],
)
def test_waiting_threads_sleep_unless_the_environment_says_otherwise(given, found):
    code = "import os; from handaxe.cli import main; main(['--version']); print(os.environ.get('GOMP_SPINCOUNT'))"
    own = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    done = subprocess.run([sys.executable, "-c", code], env=own | given, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == found
