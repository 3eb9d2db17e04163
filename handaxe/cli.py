"""Command line `handaxe COMMAND ...`: dispatches to handaxe.commands, and prints errors.

Each command is a module of handaxe.commands, imported on use. A HandaxeError prints a red line and a hint; an error in
the user's code prints a red line with file and line; --debug adds the traceback. Exit codes: 0 done, 1 failed, 2 wrong
input, 130 stopped by Ctrl-C or SIGTERM.
"""

import difflib
import importlib
import logging
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
from handaxe.core.user_code import error_place, located

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "quickstart": "train a tiny policy to use a calculator within minutes, and show a rollout",
    "methods": "list the methods of all papers",
    "train": "METHOD [OPTIONS]: train, and compare held-out accuracy and tool calls before and after",
    "doctor": "METHOD [OPTIONS]: check a run within a minute or two before training, and forecast its time",
    "start": "WORLD --out FOLDER: train a cold-start checkpoint on demonstrations with a world's tools or your own",
    "resume": "RUN: continue a stopped run, or extend a finished run",
    "eval": "RUN: evaluate the last checkpoint on held-out tasks; --benchmark NAME: print the table of a benchmark",
    "chat": "RUN: chat with the policy in the terminal, with its tool calls",
    "show": "RUN|PAPER: show metrics and a rollout token by token; or a paper, by number or name",
    "view": "[FOLDER]: show runs in a browser, token by token, live during training",
    "report": "RUN: write the pages of `view` as one HTML file for offline use",
    "export": "RUN --out FOLDER: write a folder for transformers and chat servers, with the token ids of training",
    "push": "RUN OWNER/NAME: share a policy on the Hugging Face hub, with a model card",
    "trajectories": "RUN --where ...: search rollouts, and write them as JSON lines, a data set or an Inspect log",
    "replay": "RUN: replay the recorded rollouts without a model, and list differences",
    "lab": "RUN: recompute and compare rewards; --attack NAME: attack rewards; --page: docs/lab.md",
    "judge": "agree|attack METHOD: compare with the rule, attack; eval: measure on benches; show RUN: print questions",
    "synthesize": "PIPELINE --out FOLDER: make verified, decontaminated tasks; show FOLDER: print the funnel",
    "prompts": "[NAME]: list the prompts of judges, or print one",
    "index": "DOCUMENTS --out INDEX: build an index of documents for the tool `search`",
    "serve": "MODULE:ATTRIBUTE ...: serve tools over MCP; --model RUN: serve a policy as chat completions",
    "replicate": "METHOD ...: decide the claims of methods by paired runs; --all for every method",
    "compare": "METHOD METHOD ...: train several methods with equal seeds, and compare them",
    "study": "NAME: compute the figures of a paper's study",
    "papers": "write PAPERS.md and the README.md of each paper; --check fails for stale pages",
    "bias": "write docs/bias.md, bias and variance of every credit; --check fails for a stale page",
}
RESUMABLE = ("replicate", "compare", "synthesize")
"""Commands that continue when called again after Ctrl-C."""
LOCAL = ("tiny", "tiny_vision", "small", "start", "smollm2")
"""Models without a download."""
SPIN_COUNT = "3000"
"""Turns of a waiting OpenMP thread of torch before a sleep; the default of libgomp is 300,000.

Small policies have thousands of short waits a step. Threads that spin through all of them take cores from other
processes and from each other. `python -m bench.contention` compares both on an idle and on a busy machine.
"""
FAILED = 1
WRONG_INPUT = 2
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: the command line without the program's name; None: the command line of this process.

    Returns:
        The exit code.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPIN_COUNT)  # read once, when torch is imported
    try:
        with _sigterm_as_interrupt():
            return _run(words)
    except HandaxeError as error:
        if debug:
            traceback.print_exc()
        _print_error(error, debug)
        return WRONG_INPUT if isinstance(error, InputError) else FAILED
    except KeyboardInterrupt:
        if debug:
            traceback.print_exc()
        _red("stopped; the same command continues" if words[0] in RESUMABLE else "stopped")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as head, closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except SystemExit as stop:  # of tyro, after --help or a parse error
        return stop.code if isinstance(stop.code, int) else FAILED
    except Exception as error:
        if debug or not error_place(error):
            raise
        _print_error(HandaxeError(located(error)), debug)
        return FAILED


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM as Ctrl-C: a run finishes the current step, and every child process ends.

    `kill` and cluster schedulers send SIGTERM. Works also with SIGINT ignored, as after nohup.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are handled in the main thread only
        yield
        return
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)


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
    _silence_packages(words)
    return importlib.import_module(f"handaxe.commands.{name}").main(words[1:])


def _silence_packages(words: list[str]) -> None:
    """Switch off FutureWarning, warnings of torchao's import, and progress bars for models without a download."""
    named = words[words.index("--model") + 1 :][:1] if "--model" in words else []
    if all(name in LOCAL or os.path.exists(name) for name in named):
        os.environ.setdefault("TQDM_DISABLE", "1")
    warnings.filterwarnings("ignore", category=FutureWarning)
    for name in ("torchao", "torch.utils._pytree"):  # torchao reports kernels that the torch build lacks
        logging.getLogger(name).setLevel(logging.ERROR)


def _help() -> None:
    console = Console(highlight=False)
    console.print("Train language models to use tools, with reinforcement learning.\n")
    console.print("usage: handaxe COMMAND ...\n", markup=False)
    table = Table.grid(padding=(0, 2))
    for name, summary in COMMANDS.items():
        table.add_row("", Text(name, style="bold"), Text(summary))
    console.print(table)
    console.print("\nhandaxe COMMAND --help shows the options; --debug shows the traceback of an error.", markup=False)


def _print_error(error: HandaxeError, debug: bool) -> None:
    first, _, rest = str(error).partition("\n")
    _red(f"{escape(first)}")
    if rest:
        sys.stderr.write(escape(rest, keep="\n") + "\n")
    if not debug and not isinstance(error, InputError):
        sys.stderr.write("--debug shows the traceback\n")


def _red(text: str) -> None:
    """Print a line to stderr, red in a terminal, never wrapped."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(Text(f"error: {text}", style="red"))
