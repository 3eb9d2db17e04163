import pytest

from handaxe.core.records import Message, Task
from handaxe.papers.latm.make_tool import make_tool, read_numbers, read_quoted, read_words, value_of
from handaxe.tools.building_blocks import TEXT_BLOCKS
from handaxe.tools.library import ToolLibrary
from handaxe.tools.program_search import ProgramMaker


def task(question, answer):
    return Task(question, (Message("user", question),), answer)


def make(shown, held, most=3000):
    library = ToolLibrary()
    return make_tool("rule", ProgramMaker(TEXT_BLOCKS, most=most), library, shown, held), library


def test_readers_read_numbers_quotes_and_words():
    assert read_numbers("Simplify 6/8 now") == [6, 8]
    assert read_quoted('the letter "h" in "a h"') == ["h", "a h"]
    assert read_words("Reverse: words: a, b c,\n") == ["a", "b c"]
    assert [value_of(one) for one in ("-3", "03x", "1.5", None)] == [-3, "03x", "1.5", ""]


def test_a_tool_is_proposed_verified_and_wrapped():
    shown = [task(f"gcd of {a}, {b}", c) for a, b, c in ((8, 12, "4"), (9, 6, "3"), (10, 25, "5"))]
    held = [task(f"gcd of {a}, {b}", c) for a, b, c in ((7, 21, "7"), (16, 40, "8"), (5, 9, "1"))]
    made, library = make(shown, held)
    assert made.name == "rule" and made.reader.kind == "integer"
    assert made.examples == (("gcd of 8, 12", [8, 12]), ("gcd of 9, 6", [9, 6]), ("gcd of 10, 25", [10, 25]))
    assert library.call("rule", {"xs": [12, 18]}).value == 6


def test_questions_of_the_verification_tell_equal_functions_apart():
    """The shown words have no capital; only a count in lower case passes the held question."""
    shown = [
        task('letter "a" in "banana and figs"', "4"),
        task('letter "o" in "one fox too low"', "5"),
        task('letter "t" in "ten cats sit tight"', "5"),
    ]
    made, library = make(shown, [task('letter "a" in "A cat in Asia"', "4")], most=20_000)
    assert made is not None and library.call("rule", {"xs": ["b", "Bob"]}).value == 2


def test_without_a_function_that_passes_there_is_no_tool():
    shown, held = [task("of 8, 12", "4")], [task("of 9, 6", "31")]
    made, library = make(shown, held)
    assert made is None and not library.entries


def test_readers_without_arguments_are_left_out():
    made, _ = make([task("Spell: abc", "cba")], [task("Spell: xyz", "zyx")])
    assert made.reader.read is read_words


@pytest.mark.parametrize("count", [0, 1])
def test_a_tool_without_held_questions_is_not_verified(count):
    held = [task("gcd of 9, 6", "3")][:count]
    made, _ = make([task("gcd of 8, 12", "4")], held)
    assert (made is not None) == bool(count)
