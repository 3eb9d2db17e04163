"""Renders a trajectory token by token in the terminal: author, advantage and log-prob of tokens.

Text of tools, users and policies is escaped (see handaxe.view.escape_markup).
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

from handaxe.core.images import Image, image_spans, is_image_id
from handaxe.core.records import Author, TokenSequence, Trajectory
from handaxe.rollouts.in_roles import role_turns
from handaxe.view.escape_markup import add_untrusted, escaped_text, shorten
from handaxe.view.fitted_table import FittedTable

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
DIGITS = 6
"""Shown digits of an image's digest."""


class Characters(NamedTuple):
    """Tokens [start, stop) that form whole characters, or all tokens of an image, with its key and without text."""

    text: str
    start: int
    stop: int
    image: int | None = None


def trajectory_panel(
    trajectory: Trajectory,
    *,
    decode: Decode,
    advantages: Sequence[np.ndarray] | None = None,
    outcome: float | None = None,
    channels: Mapping[str, float] | None = None,
    max_chars: int = 2000,
) -> RenderableType:
    """Render a trajectory with a row per span of sampled or given tokens.

    Args:
        trajectory: to show.
        decode: ids -> text, such as `ChatFormat.decode`.
        advantages: per sequence [T], zero at tokens not sampled by the policy; None for an unscored trajectory.
        outcome: score, None for an unscored trajectory.
        channels: named parts of the score.
        max_chars: limit of characters for given text; sampled tokens are all shown.

    Returns:
        A renderable for a rich Console. Sampled tokens are green for a positive and red for a negative advantage,
        darker for larger values, unshaded for zero or unknown advantages. The log-prob is the mean over sampled tokens.
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
            table.add_row(*_row(trajectory, sequence, start, stop, decode, advantage_T, largest, max_chars))
    parts: list[RenderableType] = [table, _facts(trajectory, outcome, channels or {})]
    if env := {name: value for name, value in trajectory.env.items() if value}:
        parts.append(escaped_text(f"environment {env}", style="bright_black", max_chars=max_chars))
    return Panel(Stack(*parts, _legend(trajectory)), title=_title(trajectory), border_style="bright_black")


def token_table(
    sequence: TokenSequence, *, decode: Decode, advantages: np.ndarray | None = None, policy_only: bool = True
) -> Table:
    """Make a table with a row per token: place, id, text, turn, version of the weights, log-prob, behaviour log-prob,
    advantage; also the author unless `policy_only`."""
    table = FittedTable(box=SIMPLE, header_style="bright_black")
    for name in ("place", "id", "text", "author", "turn", "weights", "log-prob", "behaviour", "advantage"):
        if name != "author" or not policy_only:
            table.add_column(name, justify="left" if name in ("text", "author") else "right")
    mask, forced = sequence.mask, sequence.forced  # computed over the whole sequence
    for t in np.flatnonzero(mask) if policy_only else range(len(sequence)):
        author, trained = Author(int(sequence.author[t])), bool(mask[t])
        facts = [f"{sequence.logp[t]:.3f}" if not forced[t] else "", f"{sequence.behaviour_logp[t]:.3f}"]
        facts = facts if trained else ["", ""]
        facts.append(f"{advantages[t]:+.3f}" if trained and advantages is not None else "")
        image = bool(is_image_id(sequence.ids[t]))
        text = escaped_text("" if image else decode([int(sequence.ids[t])]), style=STYLES[author])
        numbers = [str(int(sequence.turn[t])), str(int(sequence.version[t]))] if trained else ["", ""]
        who = [] if policy_only else [author.name.lower()]
        table.add_row(str(t), "image" if image else str(int(sequence.ids[t])), text, *who, *numbers, *facts)
    return table


def _legend(trajectory: Trajectory) -> Text:
    """Legend of colours for the authors of the trajectory."""
    line, there = Text("\n"), {int(author) for one in trajectory.sequences for author in np.unique(one.author)}
    for author, style in STYLES.items():
        if author in there:
            line.append(f" {author.name.lower()} ", style=style).append("  ")
    line.append(" advantage > 0 ", style=_shade(1.0)).append("  ").append(" < 0 ", style=_shade(-1.0))
    return line.append("  ").append("\\x1b", style="reverse").append(" escaped", style="bright_black")


def pieces(ids: Sequence[int], decode: Decode) -> Iterator[Characters]:
    """Decode token by token, with several tokens in one piece if they share a character or are of one image."""
    first = 0
    for begin, end, key in image_spans(ids):
        yield from _characters(ids[first:begin], decode, first)
        yield Characters("", begin, end, key)
        first = end
    yield from _characters(ids[first:], decode, first)


def _characters(ids: Sequence[int], decode: Decode, offset: int) -> Iterator[Characters]:
    start = 0
    for stop in range(1, len(ids) + 1):
        text = decode(ids[start:stop])
        cut = text.endswith("\ufffd") and stop - start < LONGEST_CHARACTER and stop < len(ids)
        if not cut:
            yield Characters(text, offset + start, offset + stop)
            start = stop


def _stretches(sequence: TokenSequence) -> list[tuple[int, int]]:
    """Spans of tokens sampled in one turn, or of tokens not sampled."""
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
    max_chars: int,
) -> tuple[RenderableType, RenderableType, str, str]:
    turn = int(sequence.turn[start])
    if not sequence.mask[start]:
        label = "prompt" if turn < 0 else "reply"
        images = {image.key: image for image in trajectory.images}
        return Text(label, style="bright_black"), _given(sequence, start, stop, decode, max_chars, images), "", ""
    text = _sampled(sequence, start, stop, decode, None if largest == 0 else advantage_T, largest)
    for note in _notes(trajectory, turn):
        text.append("\n").append_text(note)
    advantage = "" if advantage_T is None else _range(advantage_T[start:stop])
    drawn = sequence.logp[start:stop][~sequence.forced[start:stop]]
    mean = f"{float(np.mean(drawn)):.3f}" if len(drawn) else ""
    return _label(trajectory, turn), text, advantage, mean


def _label(trajectory: Trajectory, turn: int) -> Text:
    """Number of a turn, and its role in a rollout in several roles."""
    label, roles = Text(f"{turn}", style="bold"), role_turns(trajectory)
    if turn < len(roles):
        label.append("\n").append_text(escaped_text(roles[turn].role, max_chars=20))
    return label


def _sampled(
    sequence: TokenSequence, start: int, stop: int, decode: Decode, advantage_T: np.ndarray | None, largest: float
) -> Text:
    """Tokens of a policy turn, shaded by advantage or coloured by author; neighbours of equal style are merged."""
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


def _given(
    sequence: TokenSequence, start: int, stop: int, decode: Decode, max_chars: int, images: Mapping[int, Image]
) -> Text:
    """Given tokens, coloured by author."""
    text, authors = Text(), sequence.author[start:stop]
    edges = [start, *(np.flatnonzero(np.diff(authors)) + 1 + start).tolist(), stop]
    for first, last in pairwise(edges):
        style = STYLES[Author(int(sequence.author[first]))]
        ids, place = sequence.ids[first:last], 0
        for begin, end, key in image_spans(ids):
            add_untrusted(text, shorten(decode(ids[place:begin].tolist()), max_chars), style=style)
            text.append(_image_name(images.get(key), end - begin), style=f"{style} underline")
            place = end
        add_untrusted(text, shorten(decode(ids[place:].tolist()), max_chars), style=style)
    return text


def _image_name(image: Image | None, tokens: int) -> str:
    """Example: [image 640x480 3fa9c1, 391 tokens]."""
    about = "" if image is None else f" {image.width}x{image.height} {image.digest[:DIGITS]}"
    return f"[image{about}, {tokens} tokens]"


def _notes(trajectory: Trajectory, turn: int) -> list[Text]:
    """Notes below a turn: malformed calls, truncation, statuses of replies."""
    if not 0 <= turn < len(trajectory.turns):
        return []
    one = trajectory.turns[turn]
    notes = [escaped_text(f"malformed call: {error}", style="red", max_chars=300) for error in one.parsed.errors]
    if one.finish != "stop":
        notes.append(Text(f"finish: {one.finish}", style="red"))
    for reply in one.replies:
        if reply.status != "ok":
            content = f": {reply.content}" if reply.status in ("timeout", "infra_error") else ""
            notes.append(escaped_text(f"{reply.name} {reply.status}{content}", style="red", max_chars=200))
    return notes


def _shade(share: float) -> str:
    """Style of an advantage, given as share of the largest advantage; "" for 0."""
    if not abs(share) > 1e-9:
        return ""
    depth = int(70 + 80 * min(abs(share), 1.0))
    return f"bold white on rgb(0,{depth},0)" if share > 0 else f"bold white on rgb({depth + 30},0,0)"


def _range(values: np.ndarray) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:+.3f}" if high - low < 5e-4 else f"{low:+.3f}\n..{high:+.3f}"


def _title(trajectory: Trajectory) -> Text:
    title = escaped_text(trajectory.task.id, style="bold", max_chars=60)
    title.append(f", sample {trajectory.sample + 1}", style="not bold")
    if trajectory.branch_of is not None:
        branch = trajectory.branch_of
        title.append_text(
            escaped_text(f", branch of {branch.trajectory} at token {branch.token}", style="not bold", max_chars=80)
        )
    return title


def _facts(trajectory: Trajectory, outcome: float | None, channels: Mapping[str, float]) -> Text:
    ending = trajectory.ending
    good = ending.kind == "completed"
    line = escaped_text(
        ending.kind + (f" ({ending.reason})" if ending.reason else ""), style="" if good else "red", max_chars=80
    )
    line.append(" | not scored" if outcome is None else f" | outcome {outcome:.3f}")
    for name, value in channels.items():
        line.append_text(escaped_text(f" | {name} {value:.3f}", style="bright_black"))
    return line.append(f" | {len(trajectory.calls)} calls, {trajectory.num_tokens} tokens, {trajectory.seconds:.2f} s")
