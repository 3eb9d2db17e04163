import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.tools.build_tool import list_schema
from handaxe.tools.building_blocks import GRID_BLOCKS, LIST_BLOCKS
from handaxe.tools.draft_runner import run_draft
from handaxe.tools.library import Ticket, ToolCase
from handaxe.tools.program_search import (
    BlockCall,
    Constant,
    Parameter,
    Program,
    ProgramMaker,
    enumerate_programs,
    read_blocks,
)

ADD, HALF = read_blocks(
    "def add(a: int, b: int) -> int: return a + b\ndef half(a: int) -> int: return a // 2", "add half"
)


def cases(*pairs):
    return [ToolCase({"xs": given}, expected) for given, expected in pairs]


def first(blocks, *pairs, most=20_000, **options):
    found = enumerate_programs({"xs": list[int]}, type_of(pairs), cases(*pairs), blocks=blocks, most=most, **options)
    return next(filter(None, found), None)


def type_of(pairs):
    return list[int] if isinstance(pairs[0][1], list) else int


def test_blocks_have_the_types_of_their_annotations():
    assert (ADD.name, ADD.inputs, ADD.output) == ("add", (int, int), int)
    assert ADD.run(2, 3) == 5 and ADD.source == "def add(a: int, b: int) -> int:\n    return a + b"


@pytest.mark.parametrize(
    "pairs, text",
    [
        ([([3, 1], 1), ([2, 5, 4], 4)], "last(xs)"),
        ([([3, 1], [1, 3]), ([2, 5, 4], [4, 5, 2])], "reverse(xs)"),
        ([([3, 5, 1], [1]), ([5, 5, 9], [2])], "one(count(xs, 5))"),
    ],
)
def test_the_smallest_program_that_fits_is_first(pairs, text):
    assert first(LIST_BLOCKS, *pairs).source("rule").endswith(f"def rule(xs):\n    return {text}\n")


def test_the_search_finds_the_least_size_of_an_exhaustive_loop():
    """Slow twin: all sums and halves of a and 1 up to 5 nodes."""

    def loop(size):
        if size == 1:
            yield ("a",), lambda a: a
            yield ("1",), lambda a: 1
        elif size > 1:
            for text, inner in loop(size - 1):
                yield ("half", *text), lambda a, f=inner: f(a) // 2
            for left in range(1, size - 1):
                for (x, f), (y, g) in itertools.product(loop(left), loop(size - 1 - left)):
                    yield ("add", *x, *y), lambda a, f=f, g=g: f(a) + g(a)

    wanted = [(a, a + a // 2 + 0) for a in (3, 8, 12)]
    least = next(n for n in range(1, 7) for _, f in loop(n) if all(f(a) == b for a, b in wanted))
    found = enumerate_programs(
        {"a": int}, int, [ToolCase({"a": a}, b) for a, b in wanted], blocks=(ADD, HALF), constants=(1,)
    )
    program = next(filter(None, found))
    assert size_of(program.body) == least


def size_of(node):
    return 1 + sum(map(size_of, node.arguments)) if isinstance(node, BlockCall) else 1


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=2, max_size=3, unique_by=tuple))
def test_every_program_fits_and_its_source_agrees_in_the_sandbox(rows):
    wanted = [[0, *row[:-1]] for row in rows]
    found = enumerate_programs(
        {"xs": list[int]}, list[int], cases(*zip(rows, wanted)), blocks=GRID_BLOCKS, constants=(1, 2), most=1500
    )
    for program in filter(None, found):
        results = run_draft(program.source("rule"), "rule", [{"xs": row} for row in rows])
        assert [one.value for one in results] == wanted == [program({"xs": row}) for row in rows]


def test_the_number_of_evaluated_programs_is_exact():
    found = list(enumerate_programs({"xs": list[int]}, int, cases(([1], 77)), blocks=LIST_BLOCKS, most=300))
    assert len(found) == 300 and not any(found)
    assert len(list(enumerate_programs({"a": int}, int, [ToolCase({"a": 1}, 9)], blocks=(), constants=(2, 3)))) == 3


def test_programs_equal_on_the_cases_differ_by_a_probe():
    pairs = [([1, 2], [1, 2])]
    plain = enumerate_programs({"xs": list[int]}, list[int], cases(*pairs), blocks=GRID_BLOCKS, most=500)
    probed = enumerate_programs(
        {"xs": list[int]}, list[int], cases(*pairs), blocks=GRID_BLOCKS, probes=[{"xs": [3, 0, 1]}], most=500
    )
    assert len(list(filter(None, plain))) == 1 < len(list(filter(None, probed)))


def test_a_maker_counts_programs_and_makes_drafts_on_demand():
    maker = ProgramMaker(GRID_BLOCKS, most=400, constants=(1, 2))
    ticket = Ticket(list_schema("rule"), tuple(cases(([1, 2], [2, 1]))))
    draft = next(maker.make(ticket))
    assert draft.source.endswith("return reverse(xs)\n") and draft.tests == ticket.cases and maker.tried < 10
    assert maker.programs[draft.source] == Program({"xs": list[int]}, BlockCall(GRID_BLOCKS[0], (Parameter("xs"),)))
    list(maker.make(ticket))
    assert maker.tried > 400


def test_sources_import_math_once_and_repeat_no_block():
    gcd, add = read_blocks(
        "def gcd(xs: list[int]) -> int: return math.gcd(*xs)\ndef add(a: int, b: int) -> int: return a + b", "gcd add"
    )
    inner = BlockCall(gcd, (Parameter("xs"),))
    program = Program({"xs": list[int]}, BlockCall(add, (BlockCall(add, (inner, inner)), Constant(1))))
    source = program.source("rule")
    assert source.count("import math") == 1 and source.count("def add") == 1
    assert run_draft(source, "rule", [{"xs": [4, 6]}])[0].value == program({"xs": [4, 6]}) == 5


def test_bad_arguments_raise():
    with pytest.raises(InputError, match="0 cases"):
        enumerate_programs({}, int, [], blocks=())
    with pytest.raises(InputError, match="programs have whole numbers"):
        schema = list_schema("rule")
        schema.parameters["properties"]["xs"] = {"type": "boolean"}
        next(ProgramMaker(()).make(Ticket(schema, tuple(cases(([1], [1]))))))
