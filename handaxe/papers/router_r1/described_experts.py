"""World of experts known by descriptors of skills and price, with experts that training never shows."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

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
from handaxe.tools.decorator import tool
from handaxe.tools.definition import Billed
from handaxe.worlds.parts.answering import is_text_answer
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.routing.asked_experts import AskedExperts, ExpertAnswers
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["ROLES", "described_experts", "expert_answer"]

EXPERTS = ("a", "b", "c")
SPECIALIST, GENERALIST = ROLES = ("specialist", "generalist")
"""Roles that models may play."""
ALL = "+-*r"
"""Topics: sums, differences, products, and numbers to reverse."""
KNOWN = ("+", "-", "*", "r", "+-", "*r")
UNSEEN = ("+*", "-r", "+r", "-*")
CHEAP, DEAR = (1, 2, 3, 4), (7, 8, 9)
QUESTION = re.compile(r"(\d{1,6})([-+*r])(\d{0,6})")
UNKNOWN = "unknown"
START = Start(DemonstrationNoise(corrupt_rate=0.05), skill=250, steps=10)


def described_experts(*, careful: float = 0.4, descriptors: bool = True) -> World:
    """Questions of four topics for one of three experts with arbitrary names and with skills in the prompt.

    Each task has a generalist at a high price, a specialist for the topic, and a specialist for as many other topics,
    at low prices in any order, under the names a, b and c in any order. In half of the test tasks the able specialist
    has a combination of topics that no training task has: the policy knows such an expert by its descriptor alone.

    The roles "specialist" and "generalist" name models that answer for the experts; by default a program answers the
    topics of an expert, and "unknown" to all else.

    Args:
        careful: share of the tasks in which the demonstrator asks the able specialist; it asks the generalist in the
            others.
        descriptors: state the skills of the experts; otherwise prices alone.

    Returns:
        A world broken down by "topic" and "unseen" ("yes" or "no"). Gauges: cost_per_correct; able and specialist
        (shares of calls to an able expert, and to the able specialist); read (share of the able specialist in calls to
        specialists, 0.5 for a policy that does not read the descriptors).

    Raises:
        InputError: a share out of range.

    Example:
        "12*34? +a-a 2 allb 9 *crc 3": c {"question": "12*34"} replies "408", 4 tokens, at a cost of 12

    Paper: arXiv:2506.09033 (Router-R1), descriptors of models in the prompt, with which routing generalizes to models
        that training did not have.
    Differs: skills are topics of a program by default; the paper's experts are language models, described in sentences.
    """
    if not 0 <= careful <= 1:
        raise InputError(f"careful is {careful}; a share of tasks is 0 to 1")

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        return [_task(split, seed, number, descriptors) for number in range(count)]

    return World(
        name="described_experts",
        tasks=tasks,
        env=_env,
        roles=ROLES,
        correct=answer_score(scorer=lambda task, said: float(said.strip() == task.answer), extract=extract.final_text),
        breakdown=("topic", "unseen"),
        is_answer=is_text_answer,
        expert=partial(_expert, careful),
        start=START,
        gauges={
            "cost_per_correct": RatioMetric(lambda one, right: one.usage.cost, lambda one, right: float(right > 0.5)),
            "able": RatioMetric(partial(_calls, lambda one, call: call.name in _able(one)), partial(_calls, None)),
            "specialist": RatioMetric(
                partial(_calls, lambda one, call: call.name == _specialist(one)), partial(_calls, None)
            ),
            "read": RatioMetric(
                partial(_calls, lambda one, call: call.name == _specialist(one)),
                partial(_calls, lambda one, call: one.task.metadata["skills"].get(call.name, ALL) != ALL),
            ),
        },
    )


def expert_answer(skills: str, question: str) -> str:
    """Answer of a program with some skills.

    Example:
        expert_answer("*r", "12*34") is "408"; expert_answer("+", "12*34") is "unknown"; "1234r" is "4321" with r
    """
    found = QUESTION.fullmatch(question.replace(" ", ""))
    if found is None or found[2] not in skills or (found[2] == "r") == bool(found[3]):
        return UNKNOWN
    if found[2] == "r":
        return found[1][::-1]
    left, right = int(found[1]), int(found[3])
    return str({"+": left + right, "-": left - right, "*": left * right}[found[2]])


class _Experts:
    """Tools a, b and c of a task."""

    def __init__(self, prices: Mapping[str, int], answer: ExpertAnswers):
        self._prices, self._answer = prices, answer

    @tool(name="a", timeout=None)
    def ask_a(self, question: Annotated[str, "for example 12*34"]) -> Billed:
        """Ask expert a."""
        return self._bill("a", question)

    @tool(name="b", timeout=None)
    def ask_b(self, question: Annotated[str, "for example 12*34"]) -> Billed:
        """Ask expert b."""
        return self._bill("b", question)

    @tool(name="c", timeout=None)
    def ask_c(self, question: Annotated[str, "for example 12*34"]) -> Billed:
        """Ask expert c."""
        return self._bill("c", question)

    def snapshot(self) -> None:
        """No state."""

    def restore(self, state: None) -> None:
        """No state."""

    def _bill(self, name: str, question: str) -> Billed:
        answer = self._answer(name, question.strip())
        return Billed(answer.text, self._prices[name] * answer.written, 0.0)


def _env(tools: Sequence[Any]) -> EnvFactory:
    # Raises early for bad tools, and bounds the number of open environments.
    probe = tool_chat([lambda: _Experts({}, _rule({})), *tools])

    def make(task: Task) -> Env:
        skills, prices = task.metadata["skills"], task.metadata["prices"]
        roles = {name: GENERALIST if own == ALL else SPECIALIST for name, own in skills.items()}

        def experts(answer: ExpertAnswers) -> Env:
            return tool_chat([lambda: _Experts(prices, answer), *tools])(task)

        return AskedExperts(experts, task, roles=roles, rule=_rule(skills))

    return inherit_bound(make, probe)


def _rule(skills: Mapping[str, str]) -> ExpertAnswers:
    def answer(name: str, question: str) -> PolicyAnswer:
        text = expert_answer(skills[name], question)
        return PolicyAnswer(text, 0, len(text) + 1)

    return answer


def _task(split: Split, seed: int, number: int, descriptors: bool) -> Task:
    rng = random.Random(derive_seed("described experts", split, seed, number))
    question, topic = _question(rng, split)
    unseen = split == "test" and rng.random() < 0.5
    able = rng.choice([own for own in (UNSEEN if unseen else KNOWN) if topic in own])
    unable = rng.choice([own for own in KNOWN if topic not in own and len(own) == len(able)])
    names = rng.sample(EXPERTS, 3)
    skills = dict(zip(names, (ALL, able, unable), strict=True))
    prices = dict(zip(names, (rng.choice(DEAR), *rng.sample(CHEAP, 2)), strict=True))
    shown = [f"{_described(name, skills[name]) if descriptors else name} {prices[name]}" for name in EXPERTS]
    metadata = {"question": question, "topic": topic, "unseen": "yes" if unseen else "no"}
    return Task(
        f"described-{split}-{seed}-{number}",
        (Message("user", f"{question}? {' '.join(shown)}"),),
        expert_answer(ALL, question),
        None,
        {**metadata, "skills": skills, "prices": prices, "specialist": names[1]},
    )


def _described(name: str, skills: str) -> str:
    """Each topic with the expert's name after it: a tiny policy copies what follows an earlier character."""
    return f"all{name}" if skills == ALL else "".join(f"{topic}{name}" for topic in skills)


def _question(rng: random.Random, split: Split) -> tuple[str, str]:
    while True:
        topic = rng.choice(ALL)
        left, right = rng.randrange(10, 100), rng.randrange(10, 100)
        question = f"{rng.randrange(1000, 10_000)}r" if topic == "r" else f"{left}{topic}{right}"
        if content_split("described question", question) == split:
            return question, topic


def _expert(careful: float, task: Task, facts: Facts) -> Message:
    if facts["turn"] > 0:
        return Message("assistant", task.answer)
    rng = random.Random(derive_seed("described demonstrator", task.id))
    skills = task.metadata["skills"]
    dear = next(name for name, own in skills.items() if own == ALL)
    chosen = task.metadata["specialist"] if rng.random() < careful else dear
    return Message("assistant", "", (ToolCall(chosen, {"question": task.metadata["question"]}),))


def _able(one: Trajectory) -> list[str]:
    return [name for name, own in one.task.metadata["skills"].items() if one.task.metadata["topic"] in own]


def _specialist(one: Trajectory) -> str:
    return str(one.task.metadata["specialist"])


def _calls(counts: Any, one: Trajectory, outcome: float) -> float:
    del outcome
    return float(sum(counts is None or counts(one, call) for call in one.calls))
