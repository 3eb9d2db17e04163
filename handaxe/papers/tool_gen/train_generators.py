"""Training stages of a generator of tools, and variants without single parts."""

from __future__ import annotations

from typing import Literal, NamedTuple

from handaxe.models.chat_formats.pieces import Pieces, learn_pieces
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.ops.seeds import derive_seed
from handaxe.papers.tool_gen.fit_lessons import FitSettings, fit_lessons
from handaxe.papers.tool_gen.tool_lessons import (
    ToolVocabulary,
    agent_lesson,
    language_lesson,
    memory_lesson,
    retrieval_lesson,
)
from handaxe.papers.tool_gen.tool_questions import QuestionSplit, join_requests
from handaxe.papers.tool_gen.tool_tokens import add_tool_tokens
from handaxe.worlds.toolbox.catalogue import name_words
from handaxe.worlds.toolbox.labelled_requests import function_catalogue

__all__ = ["BaseModel", "Stages", "ToolGenerator", "new_base", "train_agent", "train_generator"]

SIZE = 1200
"""Ids of pieces."""
JOINED = 300
"""Conversations of agent training."""


class Stages(NamedTuple):
    """Steps of the stages: language modelling of the base, memorization, retrieval training, agent training."""

    language: int = 100
    memory: int = 60
    retrieval: int = 200
    agent: int = 80


class BaseModel(NamedTuple):
    """Model of the language of documents and training questions, without tool tokens."""

    model: TinyModel
    pieces: Pieces


class ToolGenerator(NamedTuple):
    """Model with spellings of tools."""

    model: TinyModel
    vocabulary: ToolVocabulary


def new_base(data: QuestionSplit, stages: Stages, *, seed: int) -> BaseModel:
    """Train a tiny model as language model on descriptions of all functions and on training questions.

    The stage stands in for the pretraining of a language model; no label of a tool is read.
    """
    texts = [entry.document["description"] for entry in function_catalogue().entries.values()]
    texts += [one.text for one in data.train]
    names = [" ".join(name_words(entry.function)) for entry in data.tools]
    pieces = Pieces(learn_pieces([*texts, *names], size=SIZE))
    model = TinyModel.new(TinyConfig(vocab_size=pieces.vocab_size, layers=2, max_length=256), seed=seed)
    vocabulary = ToolVocabulary(pieces, {}, 0)
    lessons = [lesson for text in texts if len((lesson := language_lesson(vocabulary, text)).ids) > 1]
    fit_lessons(model, lessons, FitSettings(stages.language), seed=derive_seed("language", seed) % 2**32)
    return BaseModel(model, pieces)


def train_generator(
    base: BaseModel,
    data: QuestionSplit,
    stages: Stages,
    *,
    seed: int,
    spelling: Literal["atomic", "name"] = "atomic",
    start: Literal["mean", "random"] = "mean",
    memorize: bool = True,
) -> ToolGenerator:
    """Add the tools to a copy of the base, and train memorization and retrieval.

    Args:
        base: unchanged.
        data: tools and training questions.
        stages: steps.
        seed: of the order of lessons.
        spelling: "atomic", an id each; "name", the pieces of the tool's name.
        start: rows of atomic ids.
        memorize: False leaves the first stage out.

    Paper: arXiv:2410.03439 (ToolGen), tool virtualization, memorization and retrieval training.
    Differs: all weights of a tiny model train; the paper trains Llama-3-8B.
    """
    size = base.pieces.vocab_size
    names = [entry.name for entry in data.tools]
    texts = [tuple(base.pieces.encode(" ".join(name_words(entry.function)))) for entry in data.tools]
    finish = tuple(base.pieces.encode("finish"))
    spelled: dict[str, tuple[int, ...]]
    if spelling == "atomic":
        model = add_tool_tokens(base.model, [*texts, finish], start=start, seed=seed)
        spelled = {name: (size + number,) for number, name in enumerate(names)}
    else:
        model = add_tool_tokens(base.model, [finish])
        spelled = {name: tuple(base.pieces.encode(name)) for name in names}
    vocabulary = ToolVocabulary(base.pieces, spelled, model.vocab_size - 1)
    documents = [memory_lesson(vocabulary, entry) for entry in data.tools]
    if memorize:
        fit_lessons(model, documents, FitSettings(stages.memory), seed=derive_seed("memory", seed) % 2**32)
    lessons = [retrieval_lesson(vocabulary, one) for one in data.train]
    fit_lessons(model, lessons, FitSettings(stages.retrieval), seed=derive_seed("retrieval", seed) % 2**32)
    return ToolGenerator(model, vocabulary)


def train_agent(generator: ToolGenerator, data: QuestionSplit, stages: Stages, *, seed: int) -> ToolGenerator:
    """Train a copy of a generator on conversations of one or two calls of joined training requests.

    Paper: arXiv:2410.03439 (ToolGen), end-to-end agent tuning.
    Differs: see `agent_lesson`.
    """
    model = add_tool_tokens(generator.model, [])
    lessons = [
        agent_lesson(generator.vocabulary, one, [str(step["value"]) for step in one.steps])
        for one in join_requests(data.train, JOINED, seed)
    ]
    fit_lessons(model, lessons, FitSettings(stages.agent), seed=derive_seed("agent", seed) % 2**32)
    return generator._replace(model=model)
