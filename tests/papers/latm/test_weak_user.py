import pytest

from handaxe.asking.ask import AskAnswer, Spent
from handaxe.core.records import Message, Task
from handaxe.papers.latm.make_tool import READERS, WrappedTool
from handaxe.papers.latm.weak_user import answer_alone, answer_candidates, parse_arguments, write_arguments


class Written:
    """Answerer that records its questions, as the user reads them."""

    terse = False

    def __init__(self):
        self.asked = []

    def fingerprint(self):
        return "written"

    def answer(self, asks):
        self.asked += [(ask.prompt.prefix, ask.prompt.render(ask.fields)[-1].content) for ask in asks]
        return [AskAnswer(text=" 7] ", spent=Spent(20, 3)) for _ in asks]


@pytest.mark.parametrize(
    "text, kind, found",
    [
        ("884, 52] and so on", "integer", [884, 52]),
        ('organ", "the"]', "string", ["organ", "the"]),
        ("884, 52", "integer", None),
        ("]", "integer", None),
        ("1.5]", "integer", None),
        ("true]", "integer", None),
        ('1"]', "integer", None),
        ('a", 1]', "string", None),
        ("", "string", None),
        ("[" * 100_000, "integer", None),
    ],
)
def test_arguments_are_read_from_untrusted_text(text, kind, found):
    assert parse_arguments(text, kind) == found


def test_the_user_reads_example_calls_and_continues_a_list():
    user = Written()
    numbers = WrappedTool("gcd", READERS[0], (("gcd of 8, 12\n", [8, 12]),))
    words = WrappedTool("spell", READERS[2], (("spell: cat", ["cat"]),))
    replies = write_arguments(user, [(numbers, "gcd of 3, 4\n"), (words, "spell: dog")])
    assert [one.tokens for one in replies] == [23, 23] and replies[0].text == "7]"
    assert user.asked[0] == ("[", "Question: gcd of 8, 12\nArguments: [8, 12]\n\nQuestion: gcd of 3, 4\nArguments:")
    assert user.asked[1] == ('["', 'Question: spell: cat\nArguments: ["cat"]\n\nQuestion: spell: dog\nArguments:')


def test_the_user_alone_reads_worked_questions():
    user = Written()
    shown = [Task("0", (Message("user", "gcd of 8, 12"),), "4")]
    answer_alone(user, [(shown, "gcd of 3, 4")])
    assert user.asked == [("", "Question: gcd of 8, 12\nAnswer: 4\n\nQuestion: gcd of 3, 4\nAnswer:")]


@pytest.mark.parametrize(
    "text, answer",
    [
        ("The answer to this question is 5.", "5"),
        ("5", "5"),
        ("The simplified fraction is 3/4 here", "3/4"),
        ('The word spelled backward is "tac".', "tac"),
        ("Answer: b, a", "b, a"),
    ],
)
def test_answers_in_sentences_are_candidates(text, answer):
    assert answer in answer_candidates(text)
