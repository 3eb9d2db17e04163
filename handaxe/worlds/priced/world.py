"""Questions of several difficulty and experts of different skill and price: whom to ask is what a policy learns."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.bounded_as import bounded_as
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts import extract
from handaxe.tools.ask import PolicyAnswer
from handaxe.worlds.parts import arithmetic_tasks as arithmetic
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.priced.desk import CALCULATOR, EXPERTS, PYTHON, SMALL, Desk, reckoner
from handaxe.worlds.sums import states_number
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["ABLE", "call_for", "priced"]

ABLE = {"easy": EXPERTS, "hard": (CALCULATOR, PYTHON), "text": (PYTHON,)}
"""By difficulty, who is asked for it by those who know; what they really can is measured by `worlds.priced.skill`."""
CHEAP = "cheap"
LIKES = (CHEAP, CALCULATOR, PYTHON)
START = Start(DemonstrationNoise(needed=0.5, clumsy=0.05), skill=60, steps=20)
CAREFUL = 0.2
"""Share of the tasks in which the expert asks the one that the task's user would; in the others, any that is able."""


def priced(
    *,
    cheap: tuple[int, ...] = (1, 2),
    middle: tuple[int, ...] = (3, 4),
    dear: tuple[int, ...] = (7, 8, 9),
    likes: tuple[str, ...] = (),
    easy: float = 0.45,
    text: float = 0.1,
) -> World:
    """Arithmetic and text that other policies and programs answer, at prices that are drawn for each task and shown.

    The small model is cheap; which of the other two is dear changes from task to task. The expert whose conversations
    the start learns from is right on every task, and asks the dear as gladly as the cheap in most of them.

    Args:
        cheap: what a token of the small model may cost; one of these prices is drawn for each task. Others than the
            default's are unseen by a policy that was trained with them; so it is with the next two.
        middle: what a token of the cheaper of the other two may cost.
        dear: what a token of the dearer one may cost.
        likes: what users may want, of cheap, calculator and python; one is drawn for each task and said. None: nothing
            is said, and as little cost as may be is wanted.
        easy: share of questions of one-digit numbers, which the small model has by heart.
        text: share of numbers to be read backwards, which takes python. The rest are sums and products of two or three
            digits.

    Returns:
        A world broken down by "difficulty", by who is "dear" (where shares of calls move with that, prices are read)
        and by "like". Metadata holds "prices" {expert: price}, and "preference", by the names that
        `papers.tool_orchestra.preference_weighted` knows: 1 for the outcome and for what is liked, 0 for the rest.
        Gauges: cost_per_correct; small_share, calculator_share, python_share (of all calls); cheapest (calls of the
        cheapest expert who is able, of all calls); liked (calls of the expert that is liked, of all calls in such
        tasks).

    Raises:
        InputError: prices that are none, below 1 or out of order, an unknown like, or shares out of range.

    Example:
        "7*8=? small 2 calculator 8 python 4 like cheap": small {"question": "7*8"} says "56", 3 tokens, and costs 6

    Paper: arXiv:2511.21689 (ToolOrchestra), prices and preferences drawn for each example; arXiv:2506.09033
        (Router-R1), models of different price as tools.
    Differs: experts are a policy of 0.13M parameters and two programs. The small one knows only what it was taught.
    """
    bands = (cheap, middle, dear)
    if not all(bands) or not 1 <= min(cheap) <= max(cheap) < min(middle) <= max(middle) < min(dear):
        raise InputError(f"prices are 1 or more, and every cheap one below the middle, these below the dear: {bands}")
    if not set(likes) <= set(LIKES):
        raise InputError(f"users like some of {', '.join(LIKES)}, not {list(likes)}")
    if not (easy >= 0 and text >= 0 and easy + text <= 1):
        raise InputError(f"easy and text are shares, of 1 together at most: {easy} and {text}")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        share = min(1.0, easy / (1 - text)) if text < 1 else 0.0
        made = arithmetic.tasks(count=count, seed=seed, split=split, easy=share, phrasings=("{0}=?",))
        rngs = [random.Random(derive_seed("priced", seed, split, number)) for number in range(count)]
        found = [_with_text(one, split, rng, text) for one, rng in zip(made, rngs, strict=True)]
        return [
            _with_prices(one, f"priced-{split}-{seed}-{number}", rng, bands, likes)
            for number, (one, rng) in enumerate(zip(found, rngs, strict=True))
        ]

    return World(
        name="priced",
        tasks=tasks,
        env=_env,
        correct=answer_score(scorer=lambda task, said: float(said.strip() == task.answer), extract=extract.final_text),
        by=("difficulty", "dear", "like") if likes else ("difficulty", "dear"),
        answered=states_number,
        expert=_expert,
        start=START,
        gauges={
            "cost_per_correct": RatioMetric(lambda one, right: one.used.cost, lambda one, right: float(right > 0.5)),
            **{f"{name}_share": _share(name) for name in EXPERTS},
            "cheapest": RatioMetric(lambda one, right: float(_asked(one, _cheapest(one.task))), _calls),
            "liked": RatioMetric(
                lambda one, right: float(_asked(one, one.task.metadata["like"])),
                lambda one, right: _calls(one, right) if one.task.metadata["like"] in EXPERTS else 0.0,
            ),
        },
    )


def _with_text(one: Task, split: Split, rng: random.Random, share: float) -> Task:
    """A sum as it is, or, for a share of them, digits to be read backwards in its place."""
    question, difficulty = one.metadata["expression"], one.metadata["difficulty"]
    check_count, answer = one.messages[0].content, one.answer
    if rng.random() < share:
        question, difficulty = _digits(rng, split), "text"
        check_count, answer = f"{question} backwards?", question[::-1]
    metadata = {"question": question, "difficulty": difficulty}
    return Task(one.id, (Message("user", check_count),), answer, None, metadata)


def _with_prices(
    one: Task, name: str, rng: random.Random, bands: Sequence[Sequence[int]], likes: Sequence[str]
) -> Task:
    """The same question, at prices of its own that are shown, and with what its user likes."""
    low, *others = (rng.choice(band) for band in bands)
    drawn = dict(zip(EXPERTS, (low, *rng.sample(others, 2)), strict=True))
    like = rng.choice(likes) if likes else ""
    shown = [f"{expert} {price}" for expert, price in drawn.items()] + ([f"like {like}"] if like else [])
    most = max(drawn, key=drawn.__getitem__)
    metadata = {**one.metadata, "prices": drawn, "dear": most, "like": like, "preference": _preference(like or CHEAP)}
    return Task(name, (Message("user", " ".join([one.messages[0].content, *shown])),), one.answer, None, metadata)


def _digits(rng: random.Random, split: Split) -> str:
    """Four digits that belong to the split for ever."""
    while True:
        digits = str(rng.randrange(1000, 10000))
        if digits != digits[::-1] and (derive_seed("priced backwards", digits) % 4 == 0) == (split == "test"):
            return digits


def _preference(like: str) -> dict[str, float]:
    wanted = {CHEAP: "cost"}.get(like, like)
    return {name: float(name in ("outcome", wanted)) for name in ("outcome", "cost", "seconds", *EXPERTS)}


def _env(tools: Sequence[Any]) -> EnvFactory:
    empty = Task("none", (), metadata={"prices": {}})
    # Says at once what is wrong with the tools, and how many there may be.
    probe = tool_chat([lambda: Desk(empty, lambda question: PolicyAnswer("", 0, 0)), *tools])

    def make(task: Task) -> Env:
        return tool_chat([lambda: Desk(task, reckoner()), *tools])(task)

    return bounded_as(make, probe)


def _expert(task: Task, facts: Facts) -> Message:
    if facts["turn"] > 0:
        return Message("assistant", task.answer)
    rng = random.Random(derive_seed("priced expert", task.id))
    able, like = ABLE[task.metadata["difficulty"]], task.metadata["like"]
    wanted = like if like in able else _cheapest(task)
    chosen = wanted if rng.random() < CAREFUL else rng.choice(able)
    if chosen == SMALL and reckoner()(task.metadata["question"]).text != task.answer:
        chosen = CALCULATOR
    return Message("assistant", "", (call_for(chosen, task),))


def call_for(expert: str, task: Task) -> ToolCall:
    """The call that asks an expert a task's question."""
    question = task.metadata["question"]
    if expert == PYTHON:
        code = f'"{question}"[::-1]' if task.metadata["difficulty"] == "text" else question
        return ToolCall(PYTHON, {"code": code})
    return ToolCall(expert, {"question" if expert == SMALL else "expression": question})


def _cheapest(task: Task) -> str:
    """The cheapest expert who is able."""
    return min(ABLE[task.metadata["difficulty"]], key=task.metadata["prices"].__getitem__)


def _asked(one: Trajectory, expert: str) -> int:
    return sum(call.name == expert for call in one.calls)


def _calls(one: Trajectory, outcome: float) -> float:
    del outcome
    return float(len(one.calls))


def _share(expert: str) -> RatioMetric:
    return RatioMetric(lambda one, right: float(_asked(one, expert)), _calls)
