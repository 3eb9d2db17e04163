"""Accuracy and costs of a user with tools and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.asking.ask import Answerer
from handaxe.core.records import Task
from handaxe.ops.stats import interval_figures
from handaxe.papers.latm.amortised_cost import amortised_cost, break_even
from handaxe.papers.latm.make_tool import WrappedTool
from handaxe.papers.latm.route_stream import FAMILIES, SHOWN, RoutedStream, question_text
from handaxe.papers.latm.weak_user import answer_alone, answer_candidates, parse_arguments, write_arguments
from handaxe.tools.library import ToolLibrary
from handaxe.worlds.parts import reasoning_gym

__all__ = ["answer_figures"]


def answer_figures(
    stream: RoutedStream, shown: Mapping[str, Sequence[Task]], answerer: Answerer, questions: int
) -> dict[str, float]:
    """Answer the stream with tools, with exact calls and without tools.

    Args:
        stream: questions, routes and tools.
        shown: worked questions of each family.
        answerer: the user.
        questions: of a family.

    Returns:
        The figures of `latm`.

    Example:
        a user that copies arguments without error -> latm/accuracy equals exact/accuracy, and calls/accuracy is 1

    Paper: arXiv:2305.17126 (LATM), accuracy and cost of a weak user with tools of a strong maker.
    Differs: costs are counted in programs.
    """
    families = [one.metadata["generator"] for one in stream.tasks]
    kinds = [route or family for route, family in zip(stream.routes, families, strict=True)]
    replies = answer_alone(
        answerer, [(shown[kind][:SHOWN], question_text(one)) for kind, one in zip(kinds, stream.tasks)]
    )
    alone_N = np.array([_score_alone(task, reply.text) for task, reply in zip(stream.tasks, replies, strict=True)])
    tokens_N = np.array([reply.tokens for reply in replies], np.float64)
    latm_N, own_N = alone_N.copy(), tokens_N.copy()
    exact_N = np.zeros(len(alone_N))
    calls = [(n, tool) for n, kind in enumerate(kinds) if (tool := stream.tools.get(kind)) is not None]
    written = write_arguments(answerer, [(tool, question_text(stream.tasks[n])) for n, tool in calls])
    right = list[bool]()
    for (n, tool), reply in zip(calls, written, strict=True):
        task, arguments = stream.tasks[n], parse_arguments(reply.text, tool.reader.kind)
        exact = tool.reader.read(question_text(task))
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


def _costs(stream: RoutedStream, questions: int) -> dict[str, float]:
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
