"""Enumeration of typed programs that fit worked examples: a tool maker without a model."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, get_type_hints

from handaxe.core.errors import InputError
from handaxe.tools.library import Ticket, ToolCase, ToolDraft

__all__ = [
    "BlockCall",
    "BuildingBlock",
    "Constant",
    "Parameter",
    "Program",
    "ProgramMaker",
    "enumerate_programs",
    "read_blocks",
]

LONGEST = 400
"""Longest list or text of a value; a program that exceeds it is dropped."""
LARGEST = 10**12
CONSTANTS = (0, 1, 2, 3, 4, 5, 10)


class Parameter(NamedTuple):
    """Parameter of a program."""

    name: str


class Constant(NamedTuple):
    """Constant of a program; `kind` is its type."""

    value: Any
    kind: Any = int


class BlockCall(NamedTuple):
    """Call of a block. arguments: `BlockCall`, `Parameter` or `Constant` each."""

    block: BuildingBlock
    arguments: tuple[Expression, ...]


Expression = Parameter | Constant | BlockCall


@dataclass(frozen=True)
class BuildingBlock:
    """Function that programs call.

    name     of the function
    inputs   types of the arguments
    output   type of the value
    source   Python with the function
    run      trusted twin of the source
    """

    name: str
    inputs: tuple[Any, ...]
    output: Any
    source: str = field(compare=False, repr=False)
    run: Callable[..., Any] = field(compare=False, repr=False)


def read_blocks(functions: str, names: str) -> tuple[BuildingBlock, ...]:
    """Read blocks from trusted Python: functions with annotations.

    Args:
        functions: source of the functions, which may use `math`.
        names: of the functions to return, in this order, with spaces between them.

    Example:
        read_blocks("def half(n: int) -> int: return n // 2", "half") is a block with inputs (int,) and output int
    """
    known: dict[str, Any] = {"math": math}
    exec(functions, known)
    sources = {node.name: ast.unparse(node) for node in ast.parse(functions).body if isinstance(node, ast.FunctionDef)}
    found = []
    for name in names.split():
        hints = get_type_hints(known[name])
        output = hints.pop("return")
        found.append(BuildingBlock(name, tuple(hints.values()), output, sources[name], known[name]))
    return tuple(found)


@dataclass(frozen=True)
class Program:
    """Expression with typed parameters.

    Example:
        Program({"xs": list[int]}, one(at(xs, 2))).source("third")
        is the source of `one` and `at`, and "def third(xs):\\n    return one(at(xs, 2))"
    """

    parameters: Mapping[str, Any]
    body: Expression

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        """Evaluate the expression by the trusted twins of its blocks."""
        return _evaluate(self.body, arguments)

    def blocks(self) -> list[BuildingBlock]:
        """Distinct blocks of the expression."""
        found: dict[str, BuildingBlock] = {}
        _collect(self.body, found)
        return list(found.values())

    def source(self, name: str) -> str:
        """Python of a function with this name."""
        pieces = [block.source for block in self.blocks()]
        head = ["import math"] if any("math." in piece for piece in pieces) else []
        body = f"def {name}({', '.join(self.parameters)}):\n    return {_text(self.body)}"
        return "\n\n\n".join([*head, *pieces, body]) + "\n"


def enumerate_programs(
    parameters: Mapping[str, Any],
    output: Any,
    cases: Sequence[ToolCase],
    *,
    blocks: Sequence[BuildingBlock],
    constants: Sequence[Any] = CONSTANTS,
    probes: Sequence[Mapping[str, Any]] = (),
    most: int = 20_000,
) -> Iterator[Program | None]:
    """Enumerate programs by number of nodes, and yield those with the expected value in every case.

        size of a program  =  number of its calls, parameters and constants

    Of programs with equal values in all cases and probes, the first is kept.

    Args:
        parameters: types by name, each int, str, list[int] or list[str].
        output: type of the value.
        cases: examples, at least one.
        blocks: functions of the programs.
        constants: whole numbers.
        probes: arguments without an expected value.
        most: evaluated programs; then the search ends.

    Yields:
        For each evaluated program the program if it fits, else None; the smallest first, in the order of the blocks.

    Raises:
        InputError: no case, or most below 1.

    Example:
        cases [3, 1] -> 1 and [2, 5, 4] -> 4: last(xs) is the first program

    Idea: bottom-up enumeration with observational equivalence; the maker is a rule, and no model.
    """
    if not cases or most < 1:
        raise InputError(f"{len(cases)} cases and at most {most} programs: give 1 or more of each")
    search = _Search(parameters, output, cases, probes, blocks)
    return itertools.islice(search.programs(constants), most)


@dataclass
class ProgramMaker:
    """Tool maker by enumeration; see `enumerate_programs`.

    Args:
        blocks: functions of the programs.
        most: evaluated programs of a ticket.
        constants: whole numbers.

    Idea: the place of a model that writes Python; each draft is Python as well, and runs in the sandbox alone.
    """

    blocks: Sequence[BuildingBlock]
    most: int = 20_000
    constants: Sequence[Any] = CONSTANTS
    tried: int = 0
    """Programs evaluated so far."""
    programs: dict[str, Program] = field(default_factory=dict)
    """Source of a draft -> its program."""

    def make(self, ticket: Ticket) -> Iterator[ToolDraft]:
        """Search programs for the cases of a ticket; the cases are the tests of the drafts."""
        parameters = {name: _type(schema) for name, schema in ticket.schema.parameters["properties"].items()}
        search = enumerate_programs(
            parameters,
            _type_of(ticket.cases[0].expected),
            ticket.cases,
            blocks=self.blocks,
            constants=self.constants,
            probes=ticket.probes,
            most=self.most,
        )
        for program in search:
            self.tried += 1
            if program is not None:
                draft = ToolDraft(ticket.schema, program.source(ticket.schema.name), ticket.cases)
                self.programs[draft.source] = program
                yield draft


class _Search:
    """Bank of distinct values by type and size, and the programs that compute them."""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        output: Any,
        cases: Sequence[ToolCase],
        probes: Sequence[Mapping[str, Any]],
        blocks: Sequence[BuildingBlock],
    ):
        self.parameters, self.output = parameters, output
        self.blocks = blocks
        self.given = [*(dict(case.arguments) for case in cases), *map(dict, probes)]
        self.target = _frozen([case.expected for case in cases])
        self.known: set[Any] = set()
        self.bank: dict[tuple[Any, int], list[tuple[Expression, list[Any]]]] = {}

    def programs(self, constants: Sequence[Any]) -> Iterator[Program | None]:
        """Evaluate all programs, the smallest first."""
        for name, kind in self.parameters.items():
            yield self._add(kind, 1, Parameter(name), [one[name] for one in self.given])
        for one in constants:
            yield self._add(type(one), 1, Constant(one), [one] * len(self.given))
        arity = max((len(block.inputs) for block in self.blocks), default=0)
        size, largest = 2, 1
        while size <= arity * largest + 1:  # beyond it, every combination of the bank was tried
            for block in self.blocks:
                for sizes in _splits(size - 1, len(block.inputs)):
                    banks = [self.bank.get((kind, own), []) for kind, own in zip(block.inputs, sizes, strict=True)]
                    for parts in itertools.product(*banks):
                        largest = size
                        yield self._try(block, size, parts)
            size += 1

    def _try(self, block: BuildingBlock, size: int, parts: tuple[tuple[Expression, list[Any]], ...]) -> Program | None:
        try:
            values = [block.run(*given) for given in zip(*(values for _, values in parts), strict=True)]
        except Exception:  # such as an index out of range
            return None
        if not all(map(_is_small, values)):
            return None
        return self._add(block.output, size, BlockCall(block, tuple(expression for expression, _ in parts)), values)

    def _add(self, kind: Any, size: int, expression: Expression, values: list[Any]) -> Program | None:
        """Keep a program with new values; return it if it fits."""
        key = _frozen(values)
        if (kind, key) in self.known:
            return None
        self.known.add((kind, key))
        self.bank.setdefault((kind, size), []).append((expression, values))
        fits = kind == self.output and key[: len(self.target)] == self.target
        return Program(self.parameters, expression) if fits else None


def _splits(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Ordered positive numbers with a sum: (1, 2) and (2, 1) for 3 and 2."""
    if parts == 1:
        yield (total,)
        return
    for first in range(1, total - parts + 2):
        for rest in _splits(total - first, parts - 1):
            yield (first, *rest)


def _frozen(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(tuple(one) if isinstance(one, list) else one for one in values)


def _is_small(value: Any) -> bool:
    if isinstance(value, int):
        return -LARGEST < value < LARGEST
    return len(value) <= LONGEST


def _evaluate(node: Expression, arguments: Mapping[str, Any]) -> Any:
    if isinstance(node, BlockCall):
        return node.block.run(*(_evaluate(one, arguments) for one in node.arguments))
    return arguments[node.name] if isinstance(node, Parameter) else node.value


def _collect(node: Expression, found: dict[str, BuildingBlock]) -> None:
    if isinstance(node, BlockCall):
        for one in node.arguments:
            _collect(one, found)
        found.setdefault(node.block.name, node.block)


def _text(node: Expression) -> str:
    if isinstance(node, BlockCall):
        return f"{node.block.name}({', '.join(map(_text, node.arguments))})"
    return node.name if isinstance(node, Parameter) else repr(node.value)


SCHEMAS: dict[str, Any] = {"integer": int, "string": str}


def _type(schema: Mapping[str, Any]) -> Any:
    """Type of a parameter's JSON schema."""
    if schema.get("type") == "array":
        return list[_type(schema["items"])]  # type: ignore[misc]
    if schema.get("type") not in SCHEMAS:
        raise InputError(f"programs have whole numbers, texts and lists of them, not {dict(schema)}")
    return SCHEMAS[schema["type"]]


def _type_of(value: Any) -> Any:
    """Type of a value; an empty list has numbers."""
    if isinstance(value, list):
        return list[str] if value and isinstance(value[0], str) else list[int]
    return type(value)
