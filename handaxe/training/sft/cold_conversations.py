"""Weak demonstrations of the tool protocol for a tiny policy.

The questions come from reasoning-gym's generators and have the form "12*34=?". The behaviour is weak on
purpose: a correct call in three conversations of ten, a clumsy one (a digit lost, a call left open, an unknown
tool, idle talk) in two, and otherwise a guess, correct only for one-digit numbers. The rest is left to
reinforcement learning.
"""

import ast
import json
import math
import operator
import random
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Message, ToolCall, ToolSchema

__all__ = ["ColdConversation", "conversations"]

OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


class ColdConversation(NamedTuple):
    """Messages, with the assistant's to be learned, and offered tools."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSchema, ...]


class _Question(NamedTuple):
    """Question, an expression for its answer, and the answer."""

    text: str
    expression: str
    answer: str


def conversations(
    tools: dict[str, ToolSchema], *, count: int, seed: int, weak: float = 1.0
) -> Iterator[ColdConversation]:
    """Yield `count` weak demonstrations.

    Args:
        tools: schemas of calculator, python and compute, by name.
        count: number of conversations.
        seed: equal seeds give equal conversations.
        weak: share of conversations with weak behaviour; the others show one correct call.
    """
    rng = random.Random(seed)
    offers = [("calculator",)] * 5 + [("python",)] * 3 + [("compute",)] * 2 + [("calculator", "python")] * 2 + [()]
    questions = _questions(count, seed)
    for question in questions:
        offer = rng.choice(offers)
        if offer == ("compute",):
            question = _binary(rng)
        turns = _behaviour(rng, question, offer, weak)
        yield ColdConversation((Message("user", question.text), *turns), tuple(tools[name] for name in offer))


def _questions(count: int, seed: int) -> Iterator[_Question]:
    try:
        from reasoning_gym import create_dataset
    except ImportError as error:
        raise InputError('the cold start asks questions of reasoning-gym: pip install "handaxe[gym]"') from error
    rng = random.Random(seed + 1)
    names = ("chain_sum", "products", "gcd", "basic_arithmetic")
    sources = {name: create_dataset(name, size=count, seed=100_003 * seed + 7) for name in names}
    for i in range(count):
        name = rng.choice(["chain_sum", "products", "gcd", "chain_sum", "products", "gcd", "basic_arithmetic", ""])
        if not name:
            yield _binary(rng)
            continue
        item = sources[name][i]
        yield _Question(item["question"], _expression(name, item["question"]), str(item["answer"]))


def _expression(name: str, question: str) -> str:
    if name == "gcd":
        return "gcd(" + ",".join(re.findall(r"\d+", question)) + ")"
    start, stop = {"chain_sum": ("problem: ", " ="), "products": ("multiplication: ", ". Give")}.get(
        name, ("Calculate ", ".")
    )
    return question.split(start, 1)[1].rsplit(stop, 1)[0].strip()


def _binary(rng: random.Random) -> _Question:
    sizes = rng.choice([(1, 1), (1, 1), (2, 1), (2, 2), (3, 2), (3, 3)])
    left, right = (rng.randrange(10 ** (n - 1) if n > 1 else 0, 10**n) for n in sizes)
    symbol, act = rng.choice([("+", operator.add), ("-", operator.sub), ("*", operator.mul), ("*", operator.mul)])
    shape = rng.choice(["{0}=?", "What is {0}?", "Compute {0}.", "{0} ="])
    expression = f"{left}{symbol}{right}"
    return _Question(shape.format(expression), expression, str(act(left, right)))


def _behaviour(rng: random.Random, question: _Question, offer: tuple[str, ...], weak: float) -> list[Message]:
    if not offer:
        return [Message("assistant", _guess(rng, question))]
    draw = rng.random() if rng.random() < weak else 0.0
    if draw < 0.3:
        call = _call(rng.choice(offer), question.expression)
        return [Message("assistant", "", (call,)), *_reply(question.answer), Message("assistant", question.answer)]
    if draw < 0.5:
        return _clumsy(rng, question, rng.choice(offer))
    return [Message("assistant", _guess(rng, question))]


def _call(tool: str, expression: str) -> ToolCall:
    if tool == "compute":
        left, symbol, right = re.fullmatch(r"(\d+)([-+*])(\d+)", expression).groups()  # type: ignore[union-attr]
        return ToolCall(tool, {"left": int(left), "operator": symbol, "right": int(right)})
    if tool == "python":
        text = expression if "gcd" not in expression else f"import math;math.{expression}"
        return ToolCall(tool, {"code": text})
    return ToolCall(tool, {"expression": expression})


def _reply(text: str) -> list[Message]:
    return [Message("tool", text)]


def _guess(rng: random.Random, question: _Question) -> str:
    """Guess an answer: usually correct for one-digit numbers; otherwise of about the right length."""
    numbers = [int(n) for n in re.findall(r"\d+", question.expression)]
    if max(numbers) < 10 and len(numbers) == 2 and rng.random() < 0.9:
        return question.answer
    digits = max(1, len(question.answer.lstrip("-")) + rng.choice([-1, 0, 0, 1]))
    return str(rng.randrange(10 ** (digits - 1), 10**digits))


def _clumsy(rng: random.Random, question: _Question, tool: str) -> list[Message]:
    """Make a demonstration with one of four errors."""
    kind = rng.choice(["lost digit", "open", "no such tool", "idle"])
    if kind == "idle":
        return [Message("assistant", rng.choice(["let me see", "hm", "one moment", "I will think"]))]
    call = _call(tool, question.expression)
    if kind == "no such tool":
        wrong = ToolCall(rng.choice(["calc", "eval", "search"]), {"input": question.expression})
        return [
            Message("assistant", "", (wrong,)),
            *_reply(f"there is no tool {wrong.name!r}"),
            Message("assistant", _guess(rng, question)),
        ]
    if kind == "open":
        return [Message("assistant", f"{call.name} {question.expression}")]
    return _lost_digit(rng, question, call)


def _lost_digit(rng: random.Random, question: _Question, call: ToolCall) -> list[Message]:
    places = [i for i, c in enumerate(question.expression) if c.isdigit() and _between_digits(question.expression, i)]
    if not places or call.name == "compute":
        return [Message("assistant", _guess(rng, question))]
    place = rng.choice(places)
    text = question.expression[:place] + question.expression[place + 1 :]
    value = _evaluate(text)
    if value is None:
        return [Message("assistant", _guess(rng, question))]
    key = next(iter(call.arguments))
    changed = json.loads(json.dumps(call.arguments[key]).replace(question.expression, text))
    wrong = ToolCall(call.name, {key: changed})
    return [Message("assistant", "", (wrong,)), *_reply(value), Message("assistant", value)]


def _between_digits(text: str, place: int) -> bool:
    """True if a digit precedes, so that dropping this one leaves a number (without a leading zero)."""
    return place > 0 and text[place - 1].isdigit() and text[place - 1] != "0"


def _evaluate(text: str) -> str | None:
    """Value of a small integer expression; None if it is no whole number."""

    def value(node: ast.AST) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Call):
            return math.gcd(*[value(argument) for argument in node.args])
        raise ValueError(ast.dump(node))

    try:
        return str(value(ast.parse(text, mode="eval").body))
    except (ValueError, SyntaxError):
        return None
