"""LATM (arXiv:2305.17126): tools by a strong maker, calls by a weak user, and a dispatcher."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from handaxe.asking.ask import Answerer
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Task
from handaxe.methods.method import StudyFunction
from handaxe.models.load import load
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.latm.amortised_cost import amortised_cost, break_even
from handaxe.papers.latm.dispatcher import dispatch
from handaxe.papers.latm.make_tool import WrappedTool, make_tool
from handaxe.papers.latm.weak_user import answer_alone, answer_candidates, parse_arguments, write_arguments
from handaxe.tools.building_blocks import TEXT_BLOCKS
from handaxe.tools.library import ToolLibrary
from handaxe.tools.program_search import ProgramMaker
from handaxe.worlds.parts import reasoning_gym

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["latm"]

FAMILIES = (
    "gcd", "lcm", "count_bits", "fraction_simplification", "spell_backward", "word_sequence_reversal",
    "letter_counting", "prime_factorization",
)  # fmt: skip
CONFIG: dict[str, dict[str, Any]] = {"fraction_simplification": {"styles": ("plain",)}}
SHOWN = 3
"""Worked questions of the maker, and as many of the verification."""


class Stream(NamedTuple):
    """Questions of all families in a drawn order, the kind that each was routed to, and the tools that were made.

    costs: programs that the maker evaluated for each family.
    """

    tasks: list[Task]
    routes: list[str | None]
    tools: Mapping[str, WrappedTool | None]
    costs: Mapping[str, int]
    library: ToolLibrary


def latm(*, questions: int = 5, most: int = 20_000, user: Callable[[], Answerer] | None = None) -> StudyFunction:
    """Answer questions of eight families of reasoning-gym with SmolLM2-135M as user, with tools and without.

    The stream has the families mixed. A question of a new family goes to the maker, which has three worked questions of
    the family and three to verify with. A family without a verified tool is answered without one. Questions are of the
    test split; worked questions of the train split.

    Figures:
        made                                families with a verified tool
        latm/accuracy, alone/accuracy       the user with tools, and without; exact/accuracy: tools with exact calls,
                                            the calls of the maker
        calls/accuracy                      share of exact arguments among the user's calls
        FAMILY/latm, FAMILY/alone           accuracy by family
        gain/alone, .../low, .../high       latm less alone, mean over questions with 95 % interval
        gap/exact                           exact less latm
        dispatch/accuracy                   share of questions that are routed to their family, or to the maker at the
                                            family's first question
        maker/programs                      programs that the maker evaluates for a family
        amortised/programs, each/programs   programs a question: with a tool for each family, and with a tool made for
                                            each question
        break_even                          questions of a family from which the tool is cheaper, in programs
        latm/tokens, alone/tokens           of the user, a question

    Args:
        questions: of a family.
        most: programs that the maker evaluates for a ticket.
        user: makes the language model that plays the user; None: SmolLM2-135M.
    """

    def measure(seed: int) -> dict[str, float]:
        answerer = _smollm2() if user is None else user()
        shown = {name: _tasks(name, 2 * SHOWN, seed, "train") for name in FAMILIES}
        stream = _route(shown, questions, most, seed)
        return _figures(stream, shown, answerer, questions)

    return measure


def _smollm2() -> Answerer:
    policy = load("smollm2")
    return PolicyAnswerer(local.LocalEngine(policy.model), policy.format, name="smollm2")


def _tasks(family: str, count: int, seed: int, split: reasoning_gym.Split) -> list[Task]:
    config = {name: value for name, value in CONFIG.items() if name == family}
    return reasoning_gym.tasks(family, count=count, seed=seed, split=split, config=config)


def _route(shown: Mapping[str, Sequence[Task]], questions: int, most: int, seed: int) -> Stream:
    """Dispatch the stream; a new kind goes to the maker with the worked questions of its family."""
    stream = [one for name in FAMILIES for one in _tasks(name, questions, seed, "test")]
    random.Random(derive_seed("latm", seed)).shuffle(stream)
    maker = ProgramMaker(TEXT_BLOCKS, most=most)
    library, known = ToolLibrary(), dict[str, list[str]]()
    tools, costs = dict[str, WrappedTool | None](), dict[str, int]()
    routes = list[str | None]()
    for task in stream:
        route, family = dispatch(_text(task), known), task.metadata["generator"]
        routes.append(route)
        if route is None and family not in tools:
            before = maker.tried
            own = shown[family]
            tools[family] = make_tool(family, maker, library, own[:SHOWN], own[SHOWN:])
            costs[family] = maker.tried - before
            known[family] = [_text(one) for one in own]
    return Stream(stream, routes, tools, costs, library)


def _figures(
    stream: Stream, shown: Mapping[str, Sequence[Task]], answerer: Answerer, questions: int
) -> dict[str, float]:
    families = [one.metadata["generator"] for one in stream.tasks]
    kinds = [route or family for route, family in zip(stream.routes, families, strict=True)]
    replies = answer_alone(answerer, [(shown[kind][:SHOWN], _text(one)) for kind, one in zip(kinds, stream.tasks)])
    alone_N = np.array([_score_alone(task, reply.text) for task, reply in zip(stream.tasks, replies, strict=True)])
    tokens_N = np.array([reply.tokens for reply in replies], np.float64)
    latm_N, own_N = alone_N.copy(), tokens_N.copy()
    exact_N = np.zeros(len(alone_N))
    calls = [(n, tool) for n, kind in enumerate(kinds) if (tool := stream.tools.get(kind)) is not None]
    written = write_arguments(answerer, [(tool, _text(stream.tasks[n])) for n, tool in calls])
    right = list[bool]()
    for (n, tool), reply in zip(calls, written, strict=True):
        task, arguments = stream.tasks[n], parse_arguments(reply.text, tool.reader.kind)
        exact = tool.reader.read(_text(task))
        right.append(arguments == exact)
        latm_N[n] = _use(stream.library, tool, task, arguments)
        exact_N[n] = _use(stream.library, tool, task, exact)
        own_N[n] = reply.tokens
    figures = {
        "made": float(len({tool.name for tool in stream.tools.values() if tool is not None})),
        "latm/accuracy": float(latm_N.mean()),
        "alone/accuracy": float(alone_N.mean()),
        "exact/accuracy": float(exact_N.mean()),
        "calls/accuracy": float(np.mean(right)) if right else 0.0,
        "latm/tokens": float(own_N.mean()),
        "alone/tokens": float(tokens_N.mean()),
    }
    figures |= interval_figures("gain/alone", latm_N - alone_N)
    figures["gap/exact"] = figures["exact/accuracy"] - figures["latm/accuracy"]
    for name in FAMILIES:
        own = [n for n, family in enumerate(families) if family == name]
        figures |= {f"{name}/latm": float(latm_N[own].mean()), f"{name}/alone": float(alone_N[own].mean())}
    return figures | _costs(stream, questions) | {"dispatch/accuracy": _routing(stream.routes, families)}


def _use(library: ToolLibrary, tool: WrappedTool, task: Task, arguments: list[Any] | None) -> float:
    """Score of the tool's value for arguments; 0 without arguments or with an error."""
    if arguments is None:
        return 0.0
    result = library.call(tool.name, {"xs": arguments})
    return 0.0 if result.error else _score(task, str(result.value))


def _costs(stream: Stream, questions: int) -> dict[str, float]:
    """Costs in programs; the use of a tool is the execution of one program."""
    made = [float(stream.costs[name]) for name, tool in stream.tools.items() if tool is not None]
    mean = float(np.mean(made)) if made else 0.0
    return {
        "maker/programs": mean,
        "amortised/programs": amortised_cost(questions, make=mean, use=1.0) / questions,
        "each/programs": mean + 1.0,
        "break_even": break_even(make=mean, use=1.0, alone=mean + 1.0),
    }


def _routing(routes: Sequence[str | None], families: Sequence[str]) -> float:
    """Share of correct routes: the family, or None at its first question.

    Example:
        routes None, None, "a" of the families "a", "b", "a"  ->  1
    """
    seen, correct = set[str](), 0
    for route, family in zip(routes, families, strict=True):
        correct += route == (family if family in seen else None)
        seen.add(family)
    return correct / len(families)


def _score(task: Task, text: str) -> float:
    return reasoning_gym.is_full_score(task, text)


def _score_alone(task: Task, text: str) -> float:
    """Score of the best candidate in a sentence: the user alone may write more than the answer."""
    return max(_score(task, one) for one in answer_candidates(text))


def _text(task: Task) -> str:
    return task.messages[-1].content
