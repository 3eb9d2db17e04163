"""`handaxe chat RUN`: ask a policy, and see its calls as they happen."""

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import tyro
from rich.console import Console
from rich.text import Text

from handaxe.chat.result import Answered
from handaxe.chat.runs import run_facts
from handaxe.chat.use import Assistant, use
from handaxe.commands.output import console, note
from handaxe.core.errors import HandaxeError, InputError
from handaxe.core.records import ParsedTurn, ToolReply
from handaxe.core.requests import EnvReply
from handaxe.methods.lookup import tools_named
from handaxe.view.escape import plain

__all__ = ["ChatOptions", "main"]

ROOM = 400
"""Characters of a call or a reply that are shown."""
HELP = "/new begins anew, Ctrl-D leaves, Ctrl-C stops an answer"
QUIT = ("/quit", "/exit", "/bye")
FAILED, INTERRUPTED = 1, 130


@dataclass(frozen=True)
class ChatOptions:
    """Ask a policy, and see its calls as they happen. With a question, or one that is piped in, only the answer goes to
    the standard output; exit code 0 when it came to its end, 1 when not.

    Args:
        model: folder of a run, a stage or a checkpoint, or what else `handaxe.load` takes.
        question: asked and answered once; a conversation in the terminal unless there is one.
        tools: names of tools, or MODULE:ATTRIBUTE of your own; those of the run unless told otherwise. "none" offers
            none.
        system: a system message that begins every conversation; that of the run unless told otherwise.
        single: begin a new conversation with every question, for a policy that was trained on single ones.
        temperature: of sampling; 0 says what is likeliest.
        max_turns: turns of the policy for one question.
        max_tokens: tokens of a turn; as in training unless told otherwise.
        seed: of the draws.
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


def main(arguments: list[str]) -> int:
    """Chat; returns the exit code."""
    options = tyro.cli(ChatOptions, args=arguments, prog="handaxe chat")
    question = options.question
    if question is None and not sys.stdin.isatty():
        question = sys.stdin.read()
    if question is not None and not question.strip():
        raise InputError("the question is empty: give it as an argument, or pipe it in")
    aside = Console(stderr=True, highlight=False) if question is not None else console()
    with _assistant(options, aside) as assistant:
        if question is None:
            return _converse(assistant, options, aside)
        response = assistant(question.strip())
    console().print(_lines(response.answer), soft_wrap=True)
    _say_ending(aside, response)
    return 0 if response.ending.kind == "completed" else FAILED


def _assistant(options: ChatOptions, aside: Console) -> Assistant:
    """Who is asked."""
    with aside.status("reading the model", spinner="line"):
        return use(
            options.model,
            None if options.tools is None else tools_named(options.tools),
            system=options.system,
            temperature=options.temperature,
            max_turns=options.max_turns,
            max_tokens=options.max_tokens,
            seed=options.seed,
            watch=lambda turn, reply: _show(aside, turn, reply),
        )


def _lines(text: str, *, style: str = "") -> Text:
    """Untrusted text of several lines, each escaped."""
    return Text("\n").join(plain(line, style=style) for line in text.split("\n"))


def _converse(assistant: Assistant, options: ChatOptions, terminal: Console) -> int:
    """Ask and answer until the user leaves."""
    with suppress(ImportError):
        import readline  # noqa: F401 - gives input() its history and keys
    note(terminal, "chat", options.model)
    note(terminal, "keys", HELP)
    if not options.single and run_facts(options.model).single:
        note(terminal, "hint", "trained on single questions: --single begins anew with each")
    while True:
        try:
            question = input("\n> ").strip()
        except EOFError:
            terminal.print()
            return 0
        except KeyboardInterrupt:
            terminal.print("\nCtrl-D leaves", style="bright_black")
            continue
        if question in QUIT:
            return 0
        if question == "/new":
            assistant.new()
            terminal.print("a new conversation", style="bright_black")
        elif question.startswith("/"):
            terminal.print(HELP, style="bright_black")
        elif question:
            _ask(assistant if options.single else assistant.more, question, terminal)


def _ask(ask: Callable[[str], Answered], question: str, terminal: Console) -> None:
    try:
        with terminal.status("", spinner="line"):
            response = ask(question)
    except KeyboardInterrupt:
        terminal.print("stopped; the question is not part of the conversation", style="bright_black")
        return
    except HandaxeError as error:  # the conversation stays as it was
        terminal.print(plain(f"error: {error}", style="red"))
        return
    if response.answer:
        terminal.print(_lines(response.answer, style="bold"))
    _say_ending(terminal, response)


def _show(terminal: Console, turn: ParsedTurn, reply: EnvReply | None) -> None:
    """A turn that calls, when it is about to be carried out, and what came back."""
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
    return Text(f"  {arrow} ", style="bright_black").append_text(plain(text, style=style, room=ROOM))


def _reply(reply: ToolReply) -> str:
    return reply.content if reply.status == "ok" else f"{reply.status}: {reply.content}"


def _value(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _say_ending(terminal: Console, response: Answered) -> None:
    """Why there is no more, where the policy did not come to its end."""
    ending = response.ending
    if ending.kind == "completed":
        return
    forgotten = "; the question is not part of the conversation"
    if ending.kind == "truncated":
        words = {
            "length": "cut off: the turn is longer than --max-tokens allows, or the conversation than the model's "
            "context (/new begins another)",
            "turns": "cut off: it used up its turns (--max-turns)",
        }.get(ending.reason, f"cut off: {ending.reason}")
    elif ending.kind == "infra_error":
        words = f"a tool failed for no fault of the policy: {ending.reason}{forgotten}"
    else:
        words = f"{ending.kind}: {ending.reason}{forgotten}"
    terminal.print(plain(words, style="red", room=ROOM), soft_wrap=True)
