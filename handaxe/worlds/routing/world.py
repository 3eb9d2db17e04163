"""Questions of several difficulties, and tools of different skill and price: the policy learns which tool to ask."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import Env, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts import extract
from handaxe.tools.ask import PolicyAnswer
from handaxe.worlds.parts import arithmetic_tasks as arithmetic
from handaxe.worlds.parts.answering import is_number_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.routing.asked_experts import AskedExperts, ExpertAnswers
from handaxe.worlds.routing.desk import CALCULATOR, EXPERTS, PYTHON, SMALL, Desk, small_model
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["ABLE", "question_call", "routing"]

ABLE = {"easy": EXPERTS, "hard": (CALCULATOR, PYTHON), "text": (PYTHON,)}
"""Difficulty -> suitable tools by construction; `worlds.routing.skill` measures their actual skill."""
CHEAP = "cheap"
LIKES = (CHEAP, CALCULATOR, PYTHON)
START = Start(DemonstrationNoise(call_rate=0.5, corrupt_rate=0.05), skill=60, steps=20)
CAREFUL = 0.2
"""Share of the tasks in which the expert asks the preferred tool; in the others it asks any suitable tool."""


def routing(
    *,
    cheap: tuple[int, ...] = (1, 2),
    middle: tuple[int, ...] = (3, 4),
    dear: tuple[int, ...] = (7, 8, 9),
    likes: tuple[str, ...] = (),
    easy: float = 0.45,
    text: float = 0.1,
) -> World:
    """Arithmetic and text questions for other policies and programs, at prices drawn and shown per task.

    The small model is cheap, and an auxiliary policy named "small" answers instead of it; the price order of the other
    two tools changes from task to task. The expert is correct on every task, and ignores prices in most of them.

    Args:
        cheap: possible prices per token of the small model, drawn per task. Prices other than the default are unseen by
            a policy trained with the default; equally for `middle` and `dear`.
        middle: possible prices per token of the cheaper of the other two tools.
        dear: possible prices per token of the more expensive tool.
        likes: possible user preferences among cheap, calculator and python; one is drawn and stated per task. Empty:
            no preference is stated, and low cost is preferred.
        easy: share of questions with one-digit operands, which the small model memorizes.
        text: share of numbers to reverse, which needs python. The rest are sums and products of two or three digits.

    Returns:
        A world broken down by "difficulty", by the tool that is "dear" (shares of calls that vary with it show that
        prices are read) and by "like". Metadata holds "prices" {tool: price}, and "preference" with the keys of
        `papers.tool_orchestra.preference_weighted`: 1 for the outcome and for the preference, 0 for the rest.
        Gauges: cost_per_correct; small_share, calculator_share, python_share (of all calls); cheapest (share of calls
            to
        the cheapest suitable tool); liked (share of calls to the preferred tool, in tasks with a preferred tool).

    Raises:
        InputError: missing prices, prices below 1 or out of order, an unknown preference, or shares out of range.

    Example:
        "7*8=? small 2 calculator 8 python 4 like cheap": small {"question": "7*8"} replies "56", 3 tokens, at a cost of
        6

    Paper: arXiv:2511.21689 (ToolOrchestra), prices and preferences drawn for each example; arXiv:2506.09033
        (Router-R1), models of different price as tools.
    Differs: the tools are a policy of 0.13M parameters and two programs. The small model knows only its training pairs.
    """
    bands = (cheap, middle, dear)
    if not all(bands) or not 1 <= min(cheap) <= max(cheap) < min(middle) <= max(middle) < min(dear):
        raise InputError(f"prices are 1 or more, and every cheap one below the middle, these below the dear: {bands}")
    if not set(likes) <= set(LIKES):
        raise InputError(f"likes are some of {', '.join(LIKES)}, not {list(likes)}")
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
        name="routing",
        tasks=tasks,
        env=_env,
        roles=(SMALL,),
        correct=answer_score(scorer=lambda task, said: float(said.strip() == task.answer), extract=extract.final_text),
        breakdown=("difficulty", "dear", "like") if likes else ("difficulty", "dear"),
        is_answer=is_number_answer,
        expert=_expert,
        start=START,
        gauges={
            "cost_per_correct": RatioMetric(lambda one, right: one.usage.cost, lambda one, right: float(right > 0.5)),
            **{f"{name}_share": _share(name) for name in EXPERTS},
            "cheapest": RatioMetric(lambda one, right: float(_calls_of(one, _cheapest(one.task))), _calls),
            "liked": RatioMetric(
                lambda one, right: float(_calls_of(one, one.task.metadata["like"])),
                lambda one, right: _calls(one, right) if one.task.metadata["like"] in EXPERTS else 0.0,
            ),
        },
    )


def _with_text(one: Task, split: Split, rng: random.Random, share: float) -> Task:
    """An arithmetic question, or in a share of the tasks digits to reverse."""
    question, difficulty = one.metadata["expression"], one.metadata["difficulty"]
    prompt, answer = one.messages[0].content, one.answer
    if rng.random() < share:
        question, difficulty = _digits(rng, split), "text"
        prompt, answer = f"{question} backwards?", question[::-1]
    metadata = {"question": question, "difficulty": difficulty}
    return Task(one.id, (Message("user", prompt),), answer, None, metadata)


def _with_prices(
    one: Task, name: str, rng: random.Random, bands: Sequence[Sequence[int]], likes: Sequence[str]
) -> Task:
    """The question with prices and a preference."""
    low, *higher = (rng.choice(band) for band in bands)
    drawn = dict(zip(EXPERTS, (low, *rng.sample(higher, 2)), strict=True))
    like = rng.choice(likes) if likes else ""
    shown = [f"{expert} {price}" for expert, price in drawn.items()] + ([f"like {like}"] if like else [])
    most = max(drawn, key=drawn.__getitem__)
    metadata = {**one.metadata, "prices": drawn, "dear": most, "like": like, "preference": _preference(like or CHEAP)}
    return Task(name, (Message("user", " ".join([one.messages[0].content, *shown])),), one.answer, None, metadata)


def _digits(rng: random.Random, split: Split) -> str:
    """Four digits of the split."""
    while True:
        digits = str(rng.randrange(1000, 10000))
        if digits != digits[::-1] and content_split("priced backwards", digits) == split:
            return digits


def _preference(like: str) -> dict[str, float]:
    wanted = {CHEAP: "cost"}.get(like, like)
    return {name: float(name in ("outcome", wanted)) for name in ("outcome", "cost", "seconds", *EXPERTS)}


def _env(tools: Sequence[Any]) -> EnvFactory:
    empty = Task("none", (), metadata={"prices": {}})
    # Raises early for bad tools, and bounds the number of open environments.
    probe = tool_chat([lambda: Desk(empty, lambda question: PolicyAnswer("", 0, 0)), *tools])

    def make(task: Task) -> Env:
        def experts(answer: ExpertAnswers) -> Env:
            return tool_chat([lambda: Desk(task, lambda question: answer(SMALL, question)), *tools])(task)

        small = small_model()
        return AskedExperts(experts, task, roles={SMALL: SMALL}, rule=lambda _, question: small(question))

    return inherit_bound(make, probe)


def _expert(task: Task, facts: Facts) -> Message:
    if facts["turn"] > 0:
        return Message("assistant", task.answer)
    rng = random.Random(derive_seed("priced expert", task.id))
    able, like = ABLE[task.metadata["difficulty"]], task.metadata["like"]
    wanted = like if like in able else _cheapest(task)
    chosen = wanted if rng.random() < CAREFUL else rng.choice(able)
    if chosen == SMALL and small_model()(task.metadata["question"]).text != task.answer:
        chosen = CALCULATOR
    return Message("assistant", "", (question_call(chosen, task),))


def question_call(expert: str, task: Task) -> ToolCall:
    """Create the call of a tool for a task's question."""
    question = task.metadata["question"]
    if expert == PYTHON:
        code = f'"{question}"[::-1]' if task.metadata["difficulty"] == "text" else question
        return ToolCall(PYTHON, {"code": code})
    return ToolCall(expert, {"question" if expert == SMALL else "expression": question})


def _cheapest(task: Task) -> str:
    """The cheapest suitable tool."""
    return min(ABLE[task.metadata["difficulty"]], key=task.metadata["prices"].__getitem__)


def _calls_of(one: Trajectory, expert: str) -> int:
    return sum(call.name == expert for call in one.calls)


def _calls(one: Trajectory, outcome: float) -> float:
    del outcome
    return float(len(one.calls))


def _share(expert: str) -> RatioMetric:
    return RatioMetric(lambda one, right: float(_calls_of(one, expert)), _calls)
