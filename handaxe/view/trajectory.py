"""Shows one trajectory token by token: who wrote each token, its advantage and its log-probability.

Everything that a tool, a user or a policy wrote is escaped (see handaxe.view.escape).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE
from rich.console import Group as Stack
from rich.console import RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from handaxe.core.records import Author, TokenSequence, Trajectory
from handaxe.view.escape import add_untrusted, plain, shorten

__all__ = ["Characters", "Decode", "pieces", "token_table", "trajectory_panel"]

Decode = Callable[[Sequence[int]], str]

STYLES = {
    Author.TEMPLATE: "bright_black",
    Author.USER: "cyan",
    Author.TOOL: "yellow",
    Author.POLICY: "bold",
    Author.FORCED: "bold magenta",
    Author.EXPERT: "blue",
}
LONGEST_CHARACTER = 4


class Characters(NamedTuple):
    """A few tokens [start, stop) that together make whole characters."""

    text: str
    start: int
    stop: int


def trajectory_panel(
    trajectory: Trajectory,
    *,
    decode: Decode,
    advantages: Sequence[np.ndarray] | None = None,
    outcome: float | None = None,
    channels: Mapping[str, float] | None = None,
    room: int = 2000,
) -> RenderableType:
    """One row for each stretch of tokens that the policy wrote or was given.

    Args:
        trajectory: what to show.
        decode: ids -> text, such as `ChatFormat.decode`.
        advantages: per sequence [T], zero where the policy did not write; None when it was not scored.
        outcome: its score, if it has one.
        channels: the named parts of the score.
        room: longest text of one author shown in full, in characters; a policy's own tokens are all shown.

    Returns:
        Something that a rich Console prints. Policy tokens are green where the advantage is positive and red where
        it is negative, the stronger the larger it is; nothing is shaded when it is zero or unknown. The log-prob is
        the mean over the tokens that the policy drew.
    """
    table = Table(box=SIMPLE, show_header=True, header_style="bright_black", expand=True, pad_edge=False)
    table.add_column("turn", no_wrap=True)
    table.add_column("tokens", ratio=1, overflow="fold")
    table.add_column("advantage", justify="right", no_wrap=True)
    table.add_column("log-prob", justify="right", no_wrap=True)
    largest = max((float(np.abs(a).max(initial=0.0)) for a in advantages or ()), default=0.0)
    for place, sequence in enumerate(trajectory.sequences):
        advantage_T = None if advantages is None else np.asarray(advantages[place], float)
        if len(trajectory.sequences) > 1:
            table.add_row(Text(f"sequence {place}", style="underline"), "", "", "")
        for start, stop in _stretches(sequence):
            table.add_row(*_row(trajectory, sequence, start, stop, decode, advantage_T, largest, room))
    parts: list[RenderableType] = [table, _facts(trajectory, outcome, channels or {})]
    if env := {name: value for name, value in trajectory.env.items() if value}:
        parts.append(plain(f"environment {env}", style="bright_black", room=room))
    return Panel(Stack(*parts, _legend(trajectory)), title=_title(trajectory), border_style="bright_black")


def token_table(
    sequence: TokenSequence, *, decode: Decode, advantages: np.ndarray | None = None, policy_only: bool = True
) -> Table:
    """One row a token: place, id, text, author (unless only the policy's are listed), turn, version of the weights,
    log-prob, behaviour log-prob, advantage."""
    table = Table(box=SIMPLE, header_style="bright_black")
    for name in ("place", "id", "text", "author", "turn", "weights", "log-prob", "behaviour", "advantage"):
        if name != "author" or not policy_only:
            table.add_column(name, justify="left" if name in ("text", "author") else "right")
    mask, forced = sequence.mask, sequence.forced  # each looks at the whole sequence
    for t in np.flatnonzero(mask) if policy_only else range(len(sequence)):
        author, trained = Author(int(sequence.author[t])), bool(mask[t])
        facts = [f"{sequence.logp[t]:.3f}" if not forced[t] else "", f"{sequence.behaviour_logp[t]:.3f}"]
        facts = facts if trained else ["", ""]
        facts.append(f"{advantages[t]:+.3f}" if trained and advantages is not None else "")
        text = plain(decode([int(sequence.ids[t])]), style=STYLES[author])
        numbers = [str(int(sequence.turn[t])), str(int(sequence.version[t]))] if trained else ["", ""]
        who = [] if policy_only else [author.name.lower()]
        table.add_row(str(t), str(int(sequence.ids[t])), text, *who, *numbers, *facts)
    return table


def _legend(trajectory: Trajectory) -> Text:
    """What the colours mean, of the authors that there are."""
    line, there = Text("\n"), {int(author) for one in trajectory.sequences for author in np.unique(one.author)}
    for author, style in STYLES.items():
        if author in there:
            line.append(f" {author.name.lower()} ", style=style).append("  ")
    line.append(" advantage > 0 ", style=_shade(1.0)).append("  ").append(" < 0 ", style=_shade(-1.0))
    return line.append("  ").append("\\x1b", style="reverse").append(" escaped", style="bright_black")


def pieces(ids: Sequence[int], decode: Decode) -> Iterator[Characters]:
    """Decode token by token, taking a few tokens together where a character is spread over them."""
    start = 0
    for stop in range(1, len(ids) + 1):
        text = decode(ids[start:stop])
        cut = text.endswith("\ufffd") and stop - start < LONGEST_CHARACTER and stop < len(ids)
        if not cut:
            yield Characters(text, start, stop)
            start = stop


def _stretches(sequence: TokenSequence) -> list[tuple[int, int]]:
    """Spans in which the policy wrote every token of one turn, or none."""
    key = np.where(sequence.mask, sequence.turn, -1)
    edges = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), len(key)]
    return list(pairwise(edges))


def _row(
    trajectory: Trajectory,
    sequence: TokenSequence,
    start: int,
    stop: int,
    decode: Decode,
    advantage_T: np.ndarray | None,
    largest: float,
    room: int,
) -> tuple[RenderableType, RenderableType, str, str]:
    turn = int(sequence.turn[start])
    if not sequence.mask[start]:
        label = "prompt" if turn < 0 else "reply"
        return Text(label, style="bright_black"), _given(sequence, start, stop, decode, room), "", ""
    text = _sampled(sequence, start, stop, decode, None if largest == 0 else advantage_T, largest)
    for note in _notes(trajectory, turn):
        text.append("\n").append_text(note)
    advantage = "" if advantage_T is None else _range(advantage_T[start:stop])
    drawn = sequence.logp[start:stop][~sequence.forced[start:stop]]
    return Text(f"{turn}", style="bold"), text, advantage, f"{float(np.mean(drawn)):.3f}" if len(drawn) else ""


def _sampled(
    sequence: TokenSequence, start: int, stop: int, decode: Decode, advantage_T: np.ndarray | None, largest: float
) -> Text:
    """Tokens of the policy's turn, shaded by advantage, else coloured by author; what looks alike is kept together."""
    styled: list[tuple[str, str]] = []
    for piece in pieces(sequence.ids[start:stop].tolist(), decode):
        share = 0.0
        if advantage_T is not None:
            share = float(advantage_T[start + piece.start : start + piece.stop].mean()) / largest
        author, shade = Author(int(sequence.author[start + piece.start])), _shade(share)
        own = STYLES[author]
        styled.append((f"{shade} {own}" if shade and author == Author.FORCED else shade or own, piece.text))
    text = Text()
    for style, same in groupby(styled, key=lambda one: one[0]):
        add_untrusted(text, "".join(one[1] for one in same), style=style)
    return text


def _given(sequence: TokenSequence, start: int, stop: int, decode: Decode, room: int) -> Text:
    """Tokens the policy was given, coloured by author."""
    text, authors = Text(), sequence.author[start:stop]
    edges = [start, *(np.flatnonzero(np.diff(authors)) + 1 + start).tolist(), stop]
    for first, last in pairwise(edges):
        whole = decode(sequence.ids[first:last].tolist())
        add_untrusted(text, shorten(whole, room), style=STYLES[Author(int(sequence.author[first]))])
    return text


def _notes(trajectory: Trajectory, turn: int) -> list[Text]:
    """What is worth knowing of a turn beside its tokens."""
    if not 0 <= turn < len(trajectory.turns):
        return []
    one = trajectory.turns[turn]
    notes = [plain(f"malformed call: {error}", style="red", room=300) for error in one.parsed.errors]
    if one.finish != "stop":
        notes.append(Text(f"finish: {one.finish}", style="red"))
    for reply in one.replies:
        if reply.status != "ok":
            unread = f": {reply.content}" if reply.status in ("timeout", "infra_error") else ""
            notes.append(plain(f"{reply.name} {reply.status}{unread}", style="red", room=200))
    return notes


def _shade(share: float) -> str:
    """A style for an advantage, as a share of the largest one; "" for none."""
    if not abs(share) > 1e-9:
        return ""
    depth = int(70 + 80 * min(abs(share), 1.0))
    return f"bold white on rgb(0,{depth},0)" if share > 0 else f"bold white on rgb({depth + 30},0,0)"


def _range(values: np.ndarray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:+.3f}" if high - low < 5e-4 else f"{low:+.3f}\n..{high:+.3f}"


def _title(trajectory: Trajectory) -> Text:
    title = plain(trajectory.task.id, style="bold", room=60)
    title.append(f", sample {trajectory.sample}", style="not bold")
    if trajectory.branch_of is not None:
        branch = trajectory.branch_of
        title.append_text(plain(f", branch of {branch.trajectory} at token {branch.token}", style="not bold", room=80))
    return title


def _facts(trajectory: Trajectory, outcome: float | None, channels: Mapping[str, float]) -> Text:
    ending = trajectory.ending
    good = ending.kind == "completed"
    line = plain(ending.kind + (f" ({ending.reason})" if ending.reason else ""), style="" if good else "red", room=80)
    line.append(" | not scored" if outcome is None else f" | outcome {outcome:.3f}")
    for name, value in channels.items():
        line.append_text(plain(f" | {name} {value:.3f}", style="bright_black"))
    return line.append(f" | {len(trajectory.calls)} calls, {trajectory.num_tokens} tokens, {trajectory.seconds:.2f} s")
