"""Small valid records for tests, made from drawings of tokens: trajectories, groups, scores, rated groups.

A layout is a drawing of a sequence, one letter a token: `U` user, `t` template, `T` tool, `p` policy, `f` forced, `x`
expert; blanks are ignored. Every maximal run of `p` and `f` is a turn. The two-turn drawing of `handaxe.core.records`
is

    make_trajectory(layouts=["UUt pp tTt p"])

and the same trajectory with its second turn in a separate sequence (a template that rewrote history) is

    make_trajectory(layouts=["UUt pp", "UUttTt p"])

Tests without interest in tokens describe the turns and get a default layout:

    make_trajectory(texts=["", "408"], calls=[["calculator"], []], replies=[["408"], []])

Per-token numbers (`logp`, `features`) are for the policy's tokens (`p` and `f`) only, in order, over all sequences; a
single number is for all of them. At forced tokens `logp` sets only behaviour_logp. Features have the value `off_mask`
at other tokens: pass NaN to detect their use. All records pass `records.check`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import (
    Advantages,
    Author,
    Ending,
    Finish,
    Group,
    Message,
    ParsedTurn,
    RatedGroup,
    Sampling,
    Scores,
    Task,
    TokenSequence,
    ToolCall,
    ToolReply,
    Trajectory,
    Turn,
    check,
)
from handaxe.ops.seeds import generator

__all__ = ["make_group", "make_rated", "make_scores", "make_task", "make_trajectory"]

LETTERS = {
    "t": Author.TEMPLATE,
    "U": Author.USER,
    "T": Author.TOOL,
    "p": Author.POLICY,
    "f": Author.FORCED,
    "x": Author.EXPERT,
}
Numbers = float | Sequence[float] | np.ndarray
TurnSpan = tuple[int, int, int]


def make_task(
    *,
    id: str = "task-0",
    question: str = "What is 12*34?",
    answer: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> Task:
    """Make a task with one user message."""
    return Task(id, (Message("user", question),), answer, metadata=metadata or {})


def make_trajectory(
    *,
    layouts: Sequence[str] | None = None,
    texts: Sequence[str] | None = None,
    calls: Sequence[Sequence[str | ToolCall]] | None = None,
    replies: Sequence[Sequence[str | ToolReply]] | None = None,
    errors: Sequence[Sequence[str]] | None = None,
    finish: Sequence[Finish] | None = None,
    ending: Ending | str = "completed",
    logp: Numbers = -0.5,
    features: Mapping[str, Numbers] | None = None,
    off_mask: float = 0.0,
    task: Task | None = None,
    id: str = "trajectory-0",
    sample: int = 0,
    version: int = 0,
    env: Mapping[str, Any] | None = None,
) -> Trajectory:
    """Make a valid trajectory.

    Args:
        layouts: a drawing for each sequence (see the module); by default one sequence with two tokens a turn and one
            reply token for a turn with replies.
        texts, calls, replies, errors, finish: one entry a turn; empty by default ("stop" for finish). A call may be a
            tool's name, a reply its content: it then answers the call at its position with status ok.
        ending: an Ending, or its kind, such as "infra_error"; "truncated" is by length.
        logp: log-prob of each policy token, also used as behaviour_logp.
        features: named numbers of the policy tokens, such as old_logp, ref_logp, value, collision.
        off_mask: value of features at all other tokens.
        version: of the weights that sampled the policy tokens.

    Returns:
        The trajectory; its turns are numbered through all sequences.

    Raises:
        InputError: a list without one entry a turn or one number a policy token.
    """
    given_lists = [x for x in (texts, calls, replies, errors, finish) if x is not None]
    if layouts is None:
        layouts = [_free_layout(max([len(x) for x in given_lists], default=1), replies)]
    task = task or make_task()
    sequences, spans = _sequences(layouts, logp, features or {}, off_mask, version, id)
    wrong = [len(x) for x in given_lists if len(x) != len(spans)]
    if wrong:
        raise InputError(f"the layouts {list(layouts)} draw {len(spans)} turns, but a list has {wrong[0]} entries")
    turns = tuple(
        _turn(
            k,
            span,
            texts[k] if texts else "",
            calls[k] if calls else (),
            replies[k] if replies else (),
            errors[k] if errors else (),
            finish[k] if finish else "stop",
        )
        for k, span in enumerate(spans)
    )
    messages = list(task.messages)
    for turn in turns:
        messages.append(Message("assistant", turn.parsed.text, turn.parsed.calls))
        messages += [Message("tool", r.content, call_id=r.call_id, name=r.name, images=r.images) for r in turn.replies]
    if isinstance(ending, str):
        ending = Ending(ending, "length" if ending == "truncated" else "")  # type: ignore[arg-type]
    made = Trajectory(id, task, sample, turns, sequences, ending, tuple(messages), env=env or {})
    check(made)
    return made


def make_group(
    *,
    trajectories: Iterable[Trajectory] | None = None,
    layouts: Sequence[str | Sequence[str]] | None = None,
    size: int = 4,
    task: Task | None = None,
    step: int = 0,
) -> Group:
    """Make a group of siblings with one task, and with numbered ids and samples.

    Args:
        trajectories: the siblings; or
        layouts: a drawing (or one per sequence) for each sibling; or
        size: number of copies of the two-turn drawing in `handaxe.core.records`.
        task: their task; by default the first sibling's.
    """
    if trajectories is None:
        drawings = layouts if layouts is not None else ["UUt pp tTt p"] * size
        trajectories = [make_trajectory(layouts=[d] if isinstance(d, str) else d) for d in drawings]
    members = list(trajectories)
    task = task or (members[0].task if members else make_task())
    return Group(
        task, tuple(replace(t, id=f"{task.id}/{step}/{i}", sample=i, task=task) for i, t in enumerate(members)), step
    )


def make_scores(
    outcome: Sequence[float],
    *,
    turns: Sequence[Sequence[float]] | None = None,
    channels: Mapping[str, Sequence[float]] | None = None,
    eligible: Sequence[bool] | None = None,
) -> Scores:
    """Make scores from plain lists."""
    return Scores(
        np.asarray(outcome, np.float64),
        None if turns is None else tuple(np.asarray(t, np.float64) for t in turns),
        {name: np.asarray(values, np.float64) for name, values in (channels or {}).items()},
        eligible=None if eligible is None else np.asarray(eligible, bool),
    )


def make_rated(
    *,
    group: Group | None = None,
    outcome: Sequence[float] | None = None,
    scores: Scores | None = None,
    advantage: Sequence[float] | None = None,
    trained: Sequence[bool] | None = None,
) -> RatedGroup:
    """Make a rated group.

    Args:
        group: by default as many two-turn siblings as outcomes (4 without outcomes).
        outcome: of each sibling, 0 by default; or complete `scores`.
        advantage: a number for each sibling, put on each of its policy tokens; by default the outcome.
        trained: by default all siblings.
    """
    if group is None:
        group = make_group(size=4 if outcome is None else len(outcome))
    if scores is None:
        scores = make_scores([0.0] * len(group) if outcome is None else outcome)
    values = scores.outcome if advantage is None else advantage
    tokens = tuple(
        tuple(np.where(sequence.mask, float(value), 0.0) for sequence in trajectory.sequences)
        for trajectory, value in zip(group, values, strict=True)
    )
    chosen = np.asarray([True] * len(group) if trained is None else trained, bool)
    return RatedGroup.of(group, scores, Advantages(tokens), trained=chosen)


def _free_layout(turns: int, replies: Sequence[Sequence[Any]] | None) -> str:
    parts = ["Ut"]
    for k in range(turns):
        answered = replies is not None and k < len(replies) and len(replies[k]) > 0
        parts.append("pp" + ("tTt" if answered else "t" if k + 1 < turns else ""))
    return " ".join(parts)


def _sequences(
    layouts: Sequence[str], logp: Numbers, features: Mapping[str, Numbers], off_mask: float, version: int, id: str
) -> tuple[tuple[TokenSequence, ...], list[TurnSpan]]:
    drawn = [layout.replace(" ", "") for layout in layouts]
    strange = sorted({letter for row in drawn for letter in row} - LETTERS.keys())
    if strange:
        raise InputError(
            f"a layout holds {strange}; its letters are U user, t template, T tool, p policy, f forced, x expert"
        )
    count = sum(row.count("p") + row.count("f") for row in drawn)
    flat = {name: _spread(name, values, count) for name, values in {**features, "logp": logp}.items()}
    rng, used = generator("testing.ids", id), 0
    sequences: list[TokenSequence] = []
    spans: list[TurnSpan] = []
    for index, row in enumerate(drawn):
        author = np.asarray([LETTERS[letter] for letter in row], np.int8)
        forced = author == Author.FORCED
        mask = (author == Author.POLICY) | forced
        turn = np.full(len(row), -1, np.int64)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
        for start, stop in edges.reshape(-1, 2).tolist():
            turn[start:] = len(spans)
            spans.append((index, start, stop))
        here = slice(used, used + int(mask.sum()))
        used = here.stop
        behaviour_logp = _place(flat["logp"][here], mask, 0.0).astype(np.float32)
        own_logp, own_version = np.where(forced, np.float32(0), behaviour_logp), np.where(mask & ~forced, version, -1)
        ids = rng.integers(0, 256, len(row))
        named = {name: _place(flat[name][here], mask, off_mask) for name in features}
        sequences.append(TokenSequence(ids, author, turn, own_logp, behaviour_logp, own_version, named))
    return tuple(sequences), spans


def _place(values: np.ndarray, mask: np.ndarray, blank: float) -> np.ndarray:
    out = np.full(len(mask), blank, np.float64)
    out[mask] = values
    return out


def _spread(name: str, values: Numbers, count: int) -> np.ndarray:
    array = np.asarray(values, np.float64)
    if array.ndim == 0:
        return np.full(count, float(array))
    if array.shape != (count,):
        raise InputError(f"{name} has {len(array)} numbers for {count} policy tokens")
    return array


def _turn(
    k: int,
    span: TurnSpan,
    text: str,
    calls: Sequence[str | ToolCall],
    replies: Sequence[str | ToolReply],
    errors: Sequence[str],
    finish: Finish,
) -> Turn:
    made = []
    for j, call in enumerate(calls):
        call = ToolCall(call, {}) if isinstance(call, str) else call
        made.append(call if call.id else replace(call, id=f"{k}-{j}"))
    answers = []
    for j, reply in enumerate(replies):
        if isinstance(reply, str):
            call_id, name = (made[j].id, made[j].name) if j < len(made) else ("", "")
            reply = ToolReply(call_id, name, reply)
        answers.append(reply)
    parsed = ParsedTurn(text, tuple(made), tuple(errors), text)
    return Turn(*span, parsed, finish, Sampling(), seed=k, replies=tuple(answers))
