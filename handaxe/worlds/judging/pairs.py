"""Judging of pairs: which of two candidates is better.

Kept: a world for any method that trains a judge.
"""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.rewards.verdict import last_verdict
from handaxe.worlds.judging.candidates import play_unequal
from handaxe.worlds.judging.sources import SOURCES, JudgedSource
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["PAIR_TAGS", "PAIR_TAIL", "judging"]

PAIR_TAGS = ("[[A]]", "[[B]]")
PAIR_TAIL = 16
"""Characters at the end of a reply that hold the verdict."""
PARTS = 1000
"""Resolution of shares."""
START = Start(skill=360, steps=0, batch_size=16, learning_rate=2e-3)


def judging(*, kinds: tuple[str, ...] = ("links", "words"), terse: float = 0.5) -> World:
    """Pairs of answers to tasks of other worlds; the judge names the better one.

    Two rollouts of a task with different scores by the oracle are candidates A and B, in an order that a digest of task
    and text decides. Right and wrong candidates have one distribution, so that position, length and the candidates
    alone tell nothing. The judge first names the type of the task (R: reasoning, C: chat). For reasoning it writes its
    own solution, for chat a rubric; then it quotes the end of each candidate with + or -, and the verdict follows.

    Args:
        kinds: of `worlds.judging.sources`, links or words; task k is of kind k modulo their number.
        terse: share of the tasks, 0 to 1, for which the expert writes the verdict alone, so that a judge taught by it
            reasons before a part of its verdicts.

    Returns:
        A world broken down by "kind", with the splits of the other worlds. Gauges: formed (share of replies with a
        verdict), reasoned (share with a type before the verdict), standard (share with the correct solution or rubric)
        and first (share of verdicts for A).

    Raises:
        InputError: an unknown kind or none, or a share out of range.

    Example:
        "3421 1", "A12" and "B13": the expert replies "R 32 2+3- [[A]]", or "[[A]]" for a terse task

    Paper: arXiv:2505.02387 (RM-R1), preference pairs for a judge that reasons.
    Differs: the tasks, candidates and tags are of a few bytes.
    """
    if not kinds or not set(kinds) <= set(SOURCES):
        raise InputError(f"kinds are one or more of {', '.join(SOURCES)}, not {', '.join(kinds) or 'none'}")
    if not 0 <= terse <= 1:
        raise InputError(f"terse is {terse}; give a share from 0 to 1")
    sources = {kind: SOURCES[kind]() for kind in kinds}

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        lists = {kind: source.world.tasks(split, count, seed) for kind, source in sources.items()}
        chosen = [kinds[number % len(kinds)] for number in range(count)]
        return [_task(kind, sources[kind], lists[kind][number], terse) for number, kind in enumerate(chosen)]

    return World(
        name="judging",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(lambda one: float(_verdict(one) == one.task.answer)),
        breakdown=("kind",),
        is_answer=lambda turn: last_verdict(turn.parsed.text, tags=PAIR_TAGS, tail=PAIR_TAIL) is not None,
        expert=_expert,
        start=START,
        start_turns=1,
        gauges=GAUGES,
    )


def _task(kind: str, source: JudgedSource, task: Task, terse: float) -> Task:
    found = play_unequal(source.world, task, source.speaker, count=2).candidates
    shown = sorted(found, key=lambda one: derive_seed("position", task.id, one.text))
    texts = [one.text for one in shown]
    standard = f"{source.type} {source.standard(task)}"
    silent = derive_seed("terse", task.id) % PARTS < terse * PARTS
    metadata = {
        "kind": kind,
        "standard": standard,
        "work": "" if silent else f"{standard} {_quoted(standard, texts)}",
        "candidates": texts,
    }
    question = f"{task.messages[-1].content}\nA{texts[0]}\nB{texts[1]}"
    gold = "A" if shown[0].score > shown[1].score else "B"
    return Task(f"judging-{task.id}", (Message("user", question),), gold, (), metadata)


def _quoted(standard: str, texts: Sequence[str]) -> str:
    """The end of each candidate, and + if it meets the standard, else -."""
    return "".join(f"{text[-1]}{'+' if text[-1] == standard[-1] else '-'}" for text in texts)


def _expert(task: Task, facts: Facts) -> Message:
    del facts
    return Message("assistant", f"{task.metadata['work']} {PAIR_TAGS['AB'.index(task.answer)]}".strip())


def _verdict(one: Trajectory) -> str | None:
    return last_verdict(one.final_text, tags=PAIR_TAGS, tail=PAIR_TAIL)


TYPES = ("R", "C")
GAUGES = {
    "formed": RatioMetric(lambda one, right: float(_verdict(one) is not None)),
    "reasoned": RatioMetric(lambda one, right: float(one.final_text[:1] in TYPES)),
    "standard": RatioMetric(lambda one, right: float(one.final_text.startswith(f"{one.task.metadata['standard']} "))),
    "first": RatioMetric(
        lambda one, right: float(_verdict(one) == "A"), lambda one, right: float(_verdict(one) is not None)
    ),
}
"""Metrics of every evaluation."""
