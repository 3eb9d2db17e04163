import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.core.requests import Completion
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.training.stages.parts.asked_author import GRAMMAR, asked_author, read_code
from handaxe.training.stages.parts.program_search import Brief, Feedback

FORMAT = Transcript()


class Model:
    """Answers with a block of code that names the seed."""

    version = 0

    def __init__(self, max_length=100_000):
        self.max_length, self.requests = max_length, []

    def sample(self, requests):
        self.requests += requests
        out = []
        for one in requests:
            ids = FORMAT.encode_turn(Message("assistant", f"Here:\n```python\nseed = {one.seed}\n```\nDone."), ())
            out.append(Completion(ids, [0.0] * len(ids), [0.0] * len(ids), [0] * len(ids), "stop"))
        return out

    def asked(self, k):
        (message,) = FORMAT.request(self.requests[k].ids)["messages"]
        return message["content"]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("Here:\n```python\nx = 1\n```", "x = 1\n"),
        ("```\nx = 1\n```\n```\ny\n```", "x = 1\n"),
        ("x = 1", "x = 1"),
        ("```python\nx = 1", "x = 1"),
        ("Here:\n```\nx = 1\ny =", "x = 1\ny ="),
        ("", ""),
    ],
)
def test_read_code_reads_the_first_block_or_the_whole_answer(answer, code):
    assert read_code(answer) == code


def test_asked_author_samples_programs_with_distinct_seeds_and_shows_the_feedback():
    model, made = Model(), []

    def engine():
        made.append(1)
        return model, FORMAT

    author = asked_author(engine=engine, goal="grids")
    assert made == []
    texts = author.write(Brief(("ok", "turn"), Feedback()), 3, 7)
    assert len(set(texts)) == 3 and all(text.startswith("seed = ") for text in texts)
    assert texts == author.write(Brief(("ok", "turn"), Feedback()), 3, 7)
    assert {one.sampling.temperature for one in model.requests} == {1.0} and made == [1]
    assert "the tasks of grids" in model.asked(0) and "the keys ok, turn" in model.asked(0)
    assert "tried before" not in model.asked(0)
    author.write(Brief(("ok",), Feedback(text="the curves")), 1, 8)
    assert model.asked(-1).endswith("This program was tried before:\nthe curves")


def test_asked_author_shows_a_description_of_the_numbers():
    model = Model()
    author = asked_author(engine=lambda: (model, FORMAT), goal="grids", describe=lambda brief: f"class {brief.names}")
    author.write(Brief(("ok",), Feedback(text="the curves")), 1, 8)
    assert "\n\nclass ('ok',)\n\nThis program" in model.asked(0)


def test_asked_author_repairs_with_the_error_in_the_request():
    model = Model()
    author = asked_author(engine=lambda: (model, FORMAT), goal="grids")
    brief = Brief(("ok",), Feedback(), lambda text: "ZeroDivisionError: division by zero")
    assert author.repair("bad program", brief, 5) == "seed = 5\n"
    assert model.asked(0).endswith("ZeroDivisionError: division by zero\nbad program")


def test_asked_author_refuses_a_model_with_a_short_context():
    author = asked_author(engine=lambda: (Model(10), FORMAT), goal="grids")
    with pytest.raises(InputError, match="the model's context 10"):
        author.write(Brief(("ok",), Feedback()), 1, 0)


def test_the_grammar_is_an_author_with_a_repair():
    brief = Brief(("ok", "turn"), Feedback(), lambda text: "")
    (text,) = GRAMMAR.write(brief, 1, 0)
    assert GRAMMAR.repair(text, brief, 0) == text
