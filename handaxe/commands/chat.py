"""`handaxe chat RUN`: chat with a policy in the terminal, with tool calls."""

import importlib
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace

import tyro
from rich.console import Console
from rich.text import Text

from handaxe.chat.persistent_env import Watch
from handaxe.chat.result import ChatAnswer
from handaxe.chat.run_facts import run_facts
from handaxe.chat.stream_turn import OnText
from handaxe.chat.use import Assistant, use
from handaxe.commands.output import command_line, console, note
from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.records import ParsedTurn, ToolReply
from handaxe.core.requests import EnvReply
from handaxe.methods.flags import flag
from handaxe.methods.lookup import find_tools
from handaxe.view.escape_markup import escaped_text

__all__ = ["ChatOptions", "main"]

MAX_CHARACTERS = 400
"""Limit of the shown text of a call or a reply."""
HELP = "/new starts a new conversation, Ctrl-D quits, Ctrl-C stops an answer"
QUIT = ("/quit", "/exit", "/bye")
FAILED, INTERRUPTED = 1, 130


@dataclass(frozen=True)
class ChatOptions:
    """Chat with a policy. A question as argument or from a pipe prints only the answer to the standard output.

    Exit code 0 for a completed answer, 1 for a truncated or failed answer.

    Args:
        model: folder of a run, a stage or a checkpoint, or another argument of `handaxe.load`.
        question: single question; without it, a conversation in the terminal.
        tools: names of tools, or MODULE:ATTRIBUTE of your own; by default the tools of the run. "none" offers no tool.
        system: system message of every conversation; by default the system message of the run.
        single: start a new conversation for every question, for a policy trained on single questions.
        temperature: of sampling; 0 is greedy decoding.
        max_turns: turns per question.
        max_tokens: tokens per turn; by default as in training.
        seed: of sampling.
        device: cpu, cuda, cuda:1, ...
        web: chat in a browser, on a page for this machine alone; the address has a token.
        port: of the page; 0 chooses a free port.
    """

    model: tyro.conf.Positional[str]
    question: tyro.conf.Positional[str | None] = None
    tools: tuple[str, ...] | None = None
    system: str | None = None
    single: bool = False
    temperature: float = 0.0
    max_turns: int = 8
    max_tokens: int | None = None
    seed: int = 0
    device: str = "cpu"
    web: bool = False
    port: int = 0


def main(arguments: list[str]) -> int:
    """Chat; returns the exit code."""
    options = tyro.cli(ChatOptions, args=arguments, prog="handaxe chat")
    question = options.question
    if options.web:
        if question is not None:
            raise InputError("--web opens a page for questions: leave the question out")
        return _serve(options)
    if question is None and not sys.stdin.isatty():
        question = sys.stdin.read()
    if question is not None and not question.strip():
        raise InputError("the question is empty: give it as an argument, or pipe it in")
    terminal = Console(stderr=True, highlight=False) if question is not None else console()
    if question is None:
        shown = _Shown(terminal)
        with _load(options, terminal, shown.watch, shown.on_text) as assistant:
            return _converse(assistant, options, terminal, shown)
    with _load(options, terminal, lambda turn, reply: _show(terminal, turn, reply)) as assistant:
        response = assistant(question.strip())
    console().print(_lines(response.answer), soft_wrap=True)
    _print_ending(terminal, response)
    return 0 if response.ending.kind == "completed" else FAILED


def _words(options: ChatOptions) -> list[str]:
    """The words of the command line that differ from the defaults."""
    words = [options.model]
    for one in fields(options):
        value = getattr(options, one.name)
        if one.name not in ("model", "single", "web", "port") and value != one.default:
            words += [flag(one.name), *(map(str, value) if isinstance(value, tuple) else [str(value)])]
    return words


def _serve(options: ChatOptions) -> int:
    """Serve the page until Ctrl-C."""
    web = importlib.import_module("handaxe.chat.web_page")  # on use: needs packages of its own
    events = web.ChatEvents()

    def show(address: str) -> None:
        port = address.partition("/#")[0].rpartition(":")[2]
        sys.stderr.write(
            f"open {address}\nfrom another machine, use ssh -L {port}:localhost:{port} ...; Ctrl-C stops the server\n"
        )
        sys.stderr.flush()

    with _load(options, Console(stderr=True, highlight=False), events.watch, events.on_text) as assistant:
        try:
            web.serve_chat(assistant, events, title=options.model, port=options.port, show=show)
        except KeyboardInterrupt:
            sys.stderr.write("stopped\n")
    return 0


def _load(options: ChatOptions, terminal: Console, watch: Watch, on_text: OnText | None = None) -> Assistant:
    with terminal.status("loading the model", spinner="line"):
        return use(
            options.model,
            None if options.tools is None else find_tools(options.tools),
            system=options.system,
            temperature=options.temperature,
            max_turns=options.max_turns,
            max_tokens=options.max_tokens,
            seed=options.seed,
            device=options.device,
            watch=watch,
            on_text=on_text,
        )


def _lines(text: str, *, style: str = "") -> Text:
    """Untrusted text, escaped line by line."""
    return Text("\n").join(escaped_text(line, style=style) for line in text.split("\n"))


class _Shown:
    """Prints the text of turns as it is sampled."""

    def __init__(self, terminal: Console):
        self._terminal, self._sent = terminal, ""

    def on_text(self, text: str) -> None:
        """Print a piece of text."""
        self._sent += text
        self._terminal.print(_lines(text), end="", soft_wrap=True)

    def watch(self, turn: ParsedTurn, reply: EnvReply | None) -> None:
        """Print the calls of a turn, or the replies."""
        if reply is None:
            self.finish(turn.text.strip())
            turn = replace(turn, text="")
        _show(self._terminal, turn, reply)

    def finish(self, text: str) -> None:
        """Print the rest of a turn's text and end the line."""
        sent, self._sent = self._sent, ""
        if text.startswith(sent):
            self._terminal.print(_lines(text[len(sent) :]), end="", soft_wrap=True)
        if sent or text:
            self._terminal.print()


def _converse(assistant: Assistant, options: ChatOptions, terminal: Console, shown: _Shown) -> int:
    """Read questions and print answers until the user quits."""
    with suppress(ImportError):
        import readline  # noqa: F401 - adds history and keys to input()
    note(terminal, "chat", options.model)
    note(terminal, "keys", HELP)
    if not options.single and run_facts(options.model).single:
        note(terminal, "hint", "trained on single questions; this starts a new conversation for each:")
        note(terminal, "single", command_line(["chat", *_words(options), "--single"]))
    while True:
        try:
            question = input("\n> ").strip()
        except EOFError:
            terminal.print()
            return 0
        except KeyboardInterrupt:
            terminal.print("\nCtrl-D quits", style="bright_black")
            continue
        if question in QUIT:
            return 0
        if question == "/new":
            assistant.new()
            terminal.print("a new conversation", style="bright_black")
        elif question.startswith("/"):
            terminal.print(HELP, style="bright_black")
        elif question:
            _ask(assistant if options.single else assistant.more, question, terminal, shown)


def _ask(ask: Callable[[str], ChatAnswer], question: str, terminal: Console, shown: _Shown) -> None:
    try:
        response = ask(question)
    except KeyboardInterrupt:
        shown.finish("")
        terminal.print("stopped; the question is not part of the conversation", style="bright_black")
        return
    except HandaxeError as error:  # the conversation stays as it was
        shown.finish("")
        terminal.print(escaped_text(f"error: {error}", style="red"))
        return
    shown.finish(response.answer)
    _print_ending(terminal, response)


def _show(terminal: Console, turn: ParsedTurn, reply: EnvReply | None) -> None:
    """Print the calls of a turn before execution, or the replies."""
    if reply is None:
        if turn.text.strip():
            terminal.print(_lines(turn.text.strip(), style="bright_black"))
        for call in turn.calls:
            given = ", ".join(f"{name}={_value(value)}" for name, value in call.arguments.items())
            terminal.print(_line("->", f"{call.name}({given})", "yellow"), soft_wrap=True)
        for error in turn.errors:
            terminal.print(_line("->", f"malformed call: {error}", "red"), soft_wrap=True)
        return
    for one in reply.replies:
        terminal.print(_line("<-", _reply(one), "cyan" if one.status == "ok" else "red"), soft_wrap=True)


def _line(arrow: str, text: str, style: str) -> Text:
    return Text(f"  {arrow} ", style="bright_black").append_text(
        escaped_text(text, style=style, max_chars=MAX_CHARACTERS)
    )


def _reply(reply: ToolReply) -> str:
    return reply.content if reply.status == "ok" else f"{reply.status}: {reply.content}"


def _value(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _print_ending(terminal: Console, response: ChatAnswer) -> None:
    """Print the reason of an early end."""
    ending = response.ending
    if ending.kind == "completed":
        return
    removed = "; the question is not part of the conversation"
    if ending.kind == "truncated":
        words = {
            "length": "truncated: the turn reached --max-tokens, or the conversation the context of the model (/new "
            "starts a new conversation)",
            "turns": "truncated: the answer reached --max-turns",
        }.get(ending.reason, f"truncated: {ending.reason}")
    elif ending.kind == "infra_error":
        words = f"a tool failed through no fault of the policy: {ending.reason}{removed}"
    else:
        words = f"{ending.kind}: {ending.reason}{removed}"
    terminal.print(escaped_text(words, style="red", max_chars=MAX_CHARACTERS), soft_wrap=True)
