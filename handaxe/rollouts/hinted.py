"""Hints in the prompt, decreasing over siblings and training steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.images import split_images
from handaxe.core.protocols import ChatFormat, Rollout, RolloutPlan
from handaxe.core.records import Author, Criterion, Message, Task, TokenSequence, Trajectory
from handaxe.core.requests import Attempt
from handaxe.ops.seeds import generator

__all__ = ["hinted"]

NAME = "hint"
WORDS = "Hints:"


def hinted(
    *,
    rollout: Rollout,
    criteria: Callable[[Task], Sequence[Criterion]],
    fraction: float | Callable[[int], float] = 1.0,
    strip: bool = False,
) -> Rollout:
    """Play `rollout` on the task with some of its criteria as hints, in a system message named "hint".

        lambda_i = f(step) * (G - 1 - i) / (G - 1)        i: index of the rollout among the G of its group; f alone
                                                          where G = 1
        hints    = round(lambda_i * C) of the C criteria, drawn by the rollout's seed, in their given order

    The first sibling gets the most hints and the last none, which keeps rewards within a group different. With f
    falling to 0 the policy learns to work without hints. If the task begins with a system message, the hints are
    appended to it. The trajectory's task is the original one, without hints; notes["hint"] holds the names of the
    hinted criteria.

    The policy trains on turns sampled with the hints in context, as in the paper's code. With strip=True the record
    has no hints: every sequence begins with the original opening, and all tokens of the policy are FORCED, since the
    policy was never sampled in this context. A step that trains them needs annotate=("old_logp",). A stripped
    trajectory cannot be replayed.

    Args:
        rollout: the strategy.
        criteria: task -> criteria, whose `text` is the hint, such as a world's.
        fraction: f in [0, 1], or a function of the training step, such as a falling sigmoid.
        strip: remove hints from the record.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns the result of `rollout`. It hints every
        rollout; evaluations run at step 0 and need an unhinted strategy, which a method provides by itself.

    Raises:
        InputError: a fraction out of [0, 1]; with strip, a sequence without the rollout's opening.

    Example:
        G = 8, f = 1: lambda 1, 0.857, 0.714, 0.571, 0.429, 0.286, 0.143, 0
        four criteria, f = 0.5, G = 3: 2, 1 and 0 hints

    Paper: arXiv:2508.16949 (RuscaRL), intra-group differentiation and decay of its scaffolding; strip is the experience
    stripping of arXiv:2511.10395 (AgentEvolver).
    Differs: a hint is the criterion's text alone, without points. AgentEvolver's larger clip for hinted rollouts
    is `papers.agent_evolver.hint_clip_bonus`.
    """
    if not callable(fraction):
        _in_range(fraction)

    def rolled(attempt: Attempt) -> RolloutPlan:
        share = _in_range(fraction(attempt.step) if callable(fraction) else fraction)
        listed = _drawn(list(criteria(attempt.task)), share, attempt)
        shown = _shown(attempt.task, listed)
        made = yield from rollout(replace(attempt, task=shown))
        names = [one.name for one in listed]
        return [_told(one, attempt, names, strip=strip) for one in made]

    return rolled


def _in_range(fraction: float) -> float:
    if not 0 <= fraction <= 1:
        raise InputError(f"hinted has the fraction {fraction}; give 0 to 1, or a function of the step that does")
    return float(fraction)


def _drawn(criteria: list[Criterion], share: float, attempt: Attempt) -> list[Criterion]:
    """Draw the criteria to hint in this rollout."""
    others = attempt.siblings - 1
    share *= (others - min(attempt.sibling, others)) / others if others > 0 else 1.0
    count = round(share * len(criteria))
    chosen = generator("hinted", attempt.seed).permutation(len(criteria))[:count]
    return [criteria[c] for c in sorted(chosen.tolist())]


def _shown(task: Task, criteria: Sequence[Criterion]) -> Task:
    """Prepend the hints to the task, or append hints to an existing system message."""
    if not criteria:
        return task
    text = "\n".join([WORDS, *(one.text for one in criteria)])
    first, *rest = task.messages
    if first.role == "system":
        parts = split_images(first.content, first.images)
        return replace(task, messages=(Message.of("system", *parts, f"\n\n{text}", name=NAME), *rest))
    return replace(task, messages=(Message("system", text, name=NAME), *task.messages))


def _told(one: Trajectory, attempt: Attempt, names: list[str], *, strip: bool) -> Trajectory:
    """Restore the original task of a trajectory, and note the hints."""
    made = replace(one, task=attempt.task, notes={**one.notes, NAME: names})
    return _stripped(made, attempt.format) if strip and names else made


def _stripped(one: Trajectory, format: ChatFormat) -> Trajectory:
    """Remove the hints from a trajectory."""
    messages = _unhinted(one.messages, one.task)
    last = next((k for k, message in enumerate(one.messages) if message.role == "assistant"), len(one.messages))
    told = format.start(one.messages[:last], one.tools)
    plain = format.start(messages[: last - len(one.messages) + len(messages)], one.tools)
    same = _alike(told.ids[::-1], plain.ids[::-1])  # common suffix after the hint
    before, after = told.ids[: len(told.ids) - same], plain.ids[: len(plain.ids) - same]
    authors = plain.authors[: len(after)]
    for sequence in one.sequences:
        if sequence.ids[: len(before)].tolist() != list(before):
            raise InputError(
                f"a sequence of {one.id!r} does not begin as the attempt did, so no hint can be taken out of it: play "
                "it by a strategy and in a format that keep the opening, or with strip=False"
            )
    moved = len(after) - len(before)
    fork = one.branch_of and one.branch_of._replace(token=one.branch_of.token + moved)
    return replace(
        one,
        messages=messages,
        sequences=tuple(_rewritten(own, len(before), after, authors) for own in one.sequences),
        turns=tuple(replace(turn, start=turn.start + moved, stop=turn.stop + moved) for turn in one.turns),
        branch_of=fork,
    )


def _unhinted(messages: Sequence[Message], task: Task) -> tuple[Message, ...]:
    own = [message for message in task.messages[:1] if message.role == "system"]
    place = next(k for k, message in enumerate(messages) if message.name == NAME)
    return (*messages[:place], *own, *messages[place + 1 :])


def _alike(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the common prefix of two id lists."""
    return next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def _rewritten(own: TokenSequence, cut: int, ids: Sequence[int], authors: Sequence[int]) -> TokenSequence:
    """Replace the first `cut` ids of a sequence, and mark all tokens of the policy FORCED."""

    def joined(first: Sequence[int] | np.ndarray, rest: np.ndarray) -> np.ndarray:
        return np.concatenate([np.asarray(first), rest[cut:]]).astype(rest.dtype)

    zeros, mask = np.zeros(len(ids)), own.mask
    return TokenSequence(
        ids=joined(ids, own.ids),
        author=joined(authors, np.where(mask, int(Author.FORCED), own.author).astype(own.author.dtype)),
        turn=joined(np.full(len(ids), -1), own.turn),
        logp=joined(zeros, np.zeros_like(own.logp)),
        behaviour_logp=joined(zeros, own.behaviour_logp),
        version=joined(np.full(len(ids), -1), np.full_like(own.version, -1)),
        features={name: joined(zeros, values) for name, values in own.features.items()},
    )
