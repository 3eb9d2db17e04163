"""The command line: `handaxe COMMAND ...`. One file of handaxe.commands a command, imported only when it is called.

An error of ours is one red line and a hint, without a traceback unless --debug asks for it. Exit codes: 0 done,
1 failed, 2 wrong input, 130 stopped by Ctrl-C or by SIGTERM, which is answered in the same way.
"""

import difflib
import importlib
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.table import Table
from rich.text import Text

import handaxe
from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.escape import escape

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "quickstart": "train a tiny policy to use a calculator, in minutes, and look at what it learnt",
    "methods": "list the methods, one a paper",
    "train": "RECIPE [--its arguments]: train, and compare held-out accuracy and calls before and after",
    "doctor": "RECIPE [--its arguments]: check in a minute or two what train would run, and forecast the run",
    "start": "WORLD --out FOLDER: teach the tiny policy a world's tools, your own among them, before training",
    "resume": "RUN: go on with a run that was stopped, or make it longer",
    "eval": "RUN: evaluate its last checkpoint on held-out tasks",
    "chat": "RUN: ask its policy in the terminal, and see its calls as they happen",
    "show": "RUN: its metrics, and one attempt token by token",
    "view": "[FOLDER]: its runs in a browser, token by token, live while they train",
    "report": "RUN: the same pages as one HTML file, which opens from a disk",
    "export": "RUN --out FOLDER: a folder for transformers and chat servers, with the ids of training",
    "trajectories": "RUN --where ...: find attempts, and write them as JSON lines, a data set or a log of Inspect",
    "replay": "RUN: play its recorded attempts again without a model, and say what comes out otherwise",
    "lab": "RUN: its rewards asked again and compared; --attack NAME: rewards attacked; --page: docs/lab.md",
    "index": "DOCUMENTS --out INDEX: make an index of documents, for the tool `search`",
    "serve": "MODULE:ATTRIBUTE ...: serve tools over MCP; --model RUN: serve a policy as chat completions",
    "replicate": "decide what recipes claim, by paired runs; --all does every recipe",
    "compare": "train several recipes with the same seeds, and say what differs",
    "study": "NAME: compute the figures of a paper that trains nothing",
    "papers": "write PAPERS.md; --check fails when it is stale",
    "bias": "write docs/bias.md, the bias and variance of every credit; --check fails when it is stale",
}
GO_ON = ("replicate", "compare")
"""Commands that take up what they left when they were stopped."""
LOCAL = ("tiny", "start", "smollm2")
"""Models that are nowhere to be fetched."""
FAILED = 1
WRONG_INPUT = 2
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the command line without the program's name; None is that of this process.

    Returns:
        The exit code.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        with _terminated_as_by_ctrl_c():
            return _run(words)
    except HandaxeError as error:
        if debug:
            traceback.print_exc()
        _complain(error, debug)
        return WRONG_INPUT if isinstance(error, InputError) else FAILED
    except KeyboardInterrupt:
        if debug:
            traceback.print_exc()
        _red("stopped; the same command goes on" if words[0] in GO_ON else "stopped")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except SystemExit as stop:  # tyro, after --help or a command line that does not parse
        return stop.code if isinstance(stop.code, int) else FAILED


@contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    """While entered, SIGTERM, which `kill` and a cluster's scheduler send, does what Ctrl-C does: a run finishes its
    step, and no process that was started stays behind. Also where Ctrl-C itself is ignored, as after nohup."""
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be caught
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminated(number: int, frame: FrameType | None) -> None:
    del number
    answer = signal.getsignal(signal.SIGINT)
    if not callable(answer):
        raise KeyboardInterrupt
    answer(signal.SIGINT, frame)


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        _help()
        return 0 if words else WRONG_INPUT
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"handaxe {handaxe.__version__}\n")
        return 0
    name = words[0]
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(COMMANDS)}"
        raise InputError(f"there is no command {name!r}; {hint}")
    _hush(words)
    return importlib.import_module(f"handaxe.commands.{name}").main(words[1:])


def _hush(words: list[str]) -> None:
    """Switch off the bars of packages that read a model, unless one may be fetched, and their warnings of what will
    change in them, which are for people who write against them."""
    named = words[words.index("--model") + 1 :][:1] if "--model" in words else []
    if all(name in LOCAL or os.path.exists(name) for name in named):
        os.environ.setdefault("TQDM_DISABLE", "1")
    warnings.filterwarnings("ignore", category=FutureWarning)


def _help() -> None:
    console = Console(highlight=False)
    console.print("Train language models to use tools, with reinforcement learning.\n")
    console.print("usage: handaxe COMMAND ...\n", markup=False)
    table = Table.grid(padding=(0, 2))
    for name, summary in COMMANDS.items():
        table.add_row("", Text(name, style="bold"), Text(summary))
    console.print(table)
    console.print("\nhandaxe COMMAND --help says more; --debug shows the traceback of an error.", markup=False)


def _complain(error: HandaxeError, debug: bool) -> None:
    first, _, rest = str(error).partition("\n")
    _red(f"{escape(first)}")
    if rest:
        sys.stderr.write(escape(rest, keep="\n") + "\n")
    if not debug and not isinstance(error, InputError):
        sys.stderr.write("--debug shows where it happened\n")


def _red(text: str) -> None:
    """One line on stderr, red where that is a terminal, never wrapped."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(f"error: {text}", style="red"))
