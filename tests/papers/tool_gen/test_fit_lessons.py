import pytest

from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.tool_gen.decode_tools import rank_tools
from handaxe.papers.tool_gen.fit_lessons import FitSettings, fit_lessons
from handaxe.papers.tool_gen.tool_lessons import Lesson, ToolVocabulary, request_ids, retrieval_lesson
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest


class Bytes:
    def encode(self, text):
        return list(text.encode())


WORDS = ToolVocabulary(Bytes(), {"a": (264,), "b": (265,)}, 267)


def test_training_teaches_the_tokens_of_requests():
    model = TinyModel.new(TinyConfig(vocab_size=268, width=32, layers=1, heads=2, max_length=64), seed=9)
    lessons = [retrieval_lesson(WORDS, one) for one in (
        LabelledRequest("1", "add", ({"name": "a"},)), LabelledRequest("2", "book", ({"name": "b"},)),
    )]  # fmt: skip
    losses = fit_lessons(model, lessons, FitSettings(40, 2, 1e-2), seed=900)
    assert losses[-1] < 0.1 < losses[0] and len(losses) == 40
    tokens = {"a": 264, "b": 265}
    assert [rank_tools(model, request_ids(WORDS, text), tokens)[0] for text in ("add", "book")] == ["a", "b"]


def test_training_depends_on_the_seed_alone():
    lessons = [Lesson((1, 2, 3), (1, 2)), Lesson((4, 5), (1,))]
    runs = []
    for _ in range(2):
        model = TinyModel.new(TinyConfig(vocab_size=260, width=8, layers=1, heads=2, max_length=8), seed=1)
        runs.append(fit_lessons(model, lessons, FitSettings(3, 2), seed=5))
    assert runs[0] == pytest.approx(runs[1], abs=0)
