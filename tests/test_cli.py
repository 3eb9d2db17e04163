import subprocess
import sys
import types

import pytest

import handaxe
from handaxe.cli import COMMANDS, main
from handaxe.core.errors import InputError, TrainingError


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


def test_other_errors_keep_their_traceback(monkeypatch):
    with pytest.raises(ZeroDivisionError):
        fail_with(monkeypatch, ZeroDivisionError())


def test_closed_pipe_is_no_error():
    code = "import sys; from handaxe.cli import main; sys.exit(main(['methods']))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    _, errors = process.communicate()
    assert b"Traceback" not in errors
