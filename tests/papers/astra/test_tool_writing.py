"""Tools are accepted by execution in the sandbox, and merged."""

import random

import pytest

from handaxe.papers.astra.sub_questions import SubQuestion
from handaxe.papers.astra.tool_writing import accepts_tool, call_tool, merge_tools, write_tool

TOWN = SubQuestion("town", "1204", "4410", -1, 0)
OTHER = SubQuestion("town", "1377", "4093", -1, 1)
MAYOR = SubQuestion("mayor", "4410", "3071", 0, 0)


@pytest.mark.slow
def test_the_sandbox_accepts_a_tool_whose_output_holds_the_answer():
    assert accepts_tool(write_tool("town", (("1204", "4410"),)), TOWN)
    assert not accepts_tool(write_tool("town", (("1204", "44100"),)), TOWN), "the answer is a whole word"
    assert not accepts_tool(write_tool("town", (("1377", "4410"),)), TOWN), "the call fails"
    assert not accepts_tool("def town(name):\n    return open('/etc/passwd').read()\n", TOWN)
    assert not accepts_tool("def town(name):\n    while True:\n        pass\n", TOWN._replace(answer=""))
    assert call_tool(write_tool("town", ()), "town", "1204") == (False, "KeyError: no town of 1204")


def test_an_argument_is_data_and_never_code():
    code = write_tool("town", (("1204", "4410"),))
    assert call_tool(code, "town", '1204") or print("4410') == (False, 'KeyError: no town of 1204") or print("4410')


def test_a_later_row_replaces_an_earlier_one():
    assert not accepts_tool(write_tool("town", (("1204", "4410"), ("1204", "5000"))), TOWN)


def test_tools_of_equal_intent_become_one_with_the_rows_of_both():
    rows = [(("1204", "4410"),), (("1377", "4093"),), (("4410", "3071"),)]
    codes = merge_tools([TOWN, OTHER, MAYOR], rows, random.Random(0))
    assert set(codes) == {"town", "mayor"}
    assert (
        accepts_tool(codes["town"], TOWN) and accepts_tool(codes["town"], OTHER) and accepts_tool(codes["mayor"], MAYOR)
    )


def test_a_merge_is_tried_in_other_orders_and_then_given_up():
    clash = [(("1204", "4410"),), (("1377", "4093"), ("1204", "5000"))]
    assert merge_tools([TOWN, OTHER], clash, random.Random(0), tries=1) is None
    found = merge_tools([TOWN, OTHER], clash, random.Random(0), tries=20)
    assert accepts_tool(found["town"], TOWN) and accepts_tool(found["town"], OTHER)
    never = [(("1204", "4410"),), (("1377", "9"),)]
    assert merge_tools([TOWN, OTHER], never, random.Random(0)) is None
