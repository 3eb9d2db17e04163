"""ToolGen (arXiv:2410.03439): tools as tokens of the vocabulary; retrieval and calls by generation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.methods.method import StudyFunction
from handaxe.models.chat_formats.compact import END
from handaxe.ops.ranking import ndcg_at
from handaxe.ops.stats import interval_figures
from handaxe.papers.tool_gen.tool_questions import QuestionSplit, join_requests, split_questions_of_tools
from handaxe.tools.index.dense import embed
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest
from handaxe.worlds.toolbox.live_index import LiveIndex, TextVectors
from handaxe.worlds.toolbox.tool_documents import tool_document

if TYPE_CHECKING:
    import handaxe.papers.tool_gen.decode_tools as decoding
    import handaxe.papers.tool_gen.generated_calls as playing
    import handaxe.papers.tool_gen.tool_lessons as lessons
    import handaxe.papers.tool_gen.train_generators as training
else:
    decoding = DeferredModule("handaxe.papers.tool_gen.decode_tools")
    lessons = DeferredModule("handaxe.papers.tool_gen.tool_lessons")
    playing = DeferredModule("handaxe.papers.tool_gen.generated_calls")
    training = DeferredModule("handaxe.papers.tool_gen.train_generators")

__all__ = ["tool_gen"]

PLACES = 5
"""k of NDCG@k."""
DOCUMENT = ("name", "description", "arguments")
MOST_SPELLED = 24
"""Ids of a turn that is decoded without constraints."""
Ranker = Callable[[str], Sequence[str]]


def tool_gen(
    *,
    tools: int = 200,
    joined: int = 60,
    language: int = 100,
    memory: int = 60,
    retrieval: int = 200,
    agent: int = 80,
) -> StudyFunction:
    """Train a tiny model that generates tools in three stages, and compare it with retrievers on held-out questions.

    Figures:
        SIDE/recall, SIDE/ndcg      Recall@1 and NDCG@5 of held-out questions of one tool. SIDE is generator, all
                            stages up to retrieval training; no_memory, without memorization; bm25 and dense on
                            documents; questions, BM25 on documents with the training questions
        gain/SIDE           Recall@1 of generator less that of SIDE; /low and /high, 95 % over questions
        name/recall         with the pieces of the tool's name instead of a token, decoded in a trie; Recall@1
        free/SIDE           share of turns decoded without constraints that are no tool; generator and name
        trie/SIDE           the same with constraints
        agent/SIDE/made, agent/SIDE/ended       of rollouts with joined held-out questions: share of steps with a
                            correct call, share of rollouts ended after the last step; SIDE is generator, after
                            agent training, untuned, before agent training, or bm25, a call of the first tool for each
                            question
        gain/agent, gain/untuned    made of generator less that of bm25, and of untuned, with /low and /high

    Args:
        tools: number of tools, those with the most questions.
        joined: rollouts.
        language, memory, retrieval, agent: steps of the stages.
    """

    def measure(seed: int) -> dict[str, float]:
        data = split_questions_of_tools(tools, seed)
        stages = training.Stages(language, memory, retrieval, agent)
        base = training.new_base(data, stages, seed=seed)
        atomic = training.train_generator(base, data, stages, seed=seed)
        sides = {
            "generator": atomic,
            "no_memory": training.train_generator(base, data, stages, seed=seed, memorize=False),
        }
        rankers = {name: _generated(one) for name, one in sides.items()} | _retrievers(data)
        figures = _retrieval(rankers, data.test)
        name = training.train_generator(base, data, stages, seed=seed, spelling="name")
        figures |= _decoding({"generator": atomic, "name": name}, data.test)
        tuned = training.train_agent(atomic, data, stages, seed=seed)
        return figures | _rollouts(tuned, atomic, rankers["bm25"], data, joined, seed)

    return measure


def _generated(generator: training.ToolGenerator) -> Ranker:
    tokens = {name: spelled[0] for name, spelled in generator.vocabulary.spellings.items()}

    def rank(text: str) -> Sequence[str]:
        return decoding.rank_tools(generator.model, lessons.request_ids(generator.vocabulary, text), tokens)

    return rank


def _retrievers(data: QuestionSplit) -> dict[str, Ranker]:
    vectors = TextVectors(embed)
    asked: dict[str, list[str]] = {}
    for one in data.train:
        asked.setdefault(one.needed[0], []).append(one.text)
    documents = [tool_document(entry) for entry in data.tools]
    plain = LiveIndex(vectors, fields=DOCUMENT)
    plain.put(documents)
    taught = LiveIndex(vectors, fields=(*DOCUMENT, "questions"))
    taught.put([one._replace(questions=tuple(asked.get(one.id, ()))) for one in documents])
    return {
        "bm25": lambda text: plain.rank(text, PLACES, way="bm25"),
        "dense": lambda text: plain.rank(text, PLACES, way="dense"),
        "questions": lambda text: taught.rank(text, PLACES, way="bm25"),
    }


def _retrieval(rankers: dict[str, Ranker], requests: Sequence[LabelledRequest]) -> dict[str, float]:
    figures, first_R = dict[str, float](), dict[str, np.ndarray]()
    for side, rank in rankers.items():
        found = [rank(one.text) for one in requests]
        first_R[side] = np.array(
            [float(list(own[:1]) == [one.needed[0]]) for own, one in zip(found, requests, strict=True)]
        )
        ndcg_R = [ndcg_at(own, one.needed, PLACES) for own, one in zip(found, requests, strict=True)]
        figures |= {f"{side}/recall": float(first_R[side].mean()), f"{side}/ndcg": float(np.mean(ndcg_R))}
    for side in rankers:
        if side != "generator":
            figures |= interval_figures(f"gain/{side}", first_R["generator"] - first_R[side])
    return figures


def _decoding(sides: dict[str, training.ToolGenerator], requests: Sequence[LabelledRequest]) -> dict[str, float]:
    figures = dict[str, float]()
    for side, generator in sides.items():
        vocabulary = generator.vocabulary
        names = {spelled: name for name, spelled in vocabulary.spellings.items()}
        trie = decoding.SpellingTrie(names, end=END)
        free, bound = list[Any](), list[Any]()
        for one in requests:
            ids = lessons.request_ids(vocabulary, one.text)
            free.append(names.get(decoding.decode_free(generator.model, ids, end=END, most=MOST_SPELLED)))
            bound.append(names.get(decoding.decode_tool(generator.model, ids, trie, end=END)))
        figures[f"free/{side}"] = free.count(None) / len(free)
        figures[f"trie/{side}"] = bound.count(None) / len(bound)
        if side == "name":
            hits = [found == one.needed[0] for found, one in zip(bound, requests, strict=True)]
            figures["name/recall"] = float(np.mean(hits))
    return figures


def _rollouts(
    tuned: training.ToolGenerator,
    untuned: training.ToolGenerator,
    bm25: Ranker,
    data: QuestionSplit,
    joined: int,
    seed: int,
) -> dict[str, float]:
    requests = join_requests(data.test, joined, seed)
    names = [entry.name for entry in data.tools]
    played = {
        "generator": [playing.play_agent(playing.generating_agent(tuned, one), one, names) for one in requests],
        "untuned": [playing.play_agent(playing.generating_agent(untuned, one), one, names) for one in requests],
        "bm25": [playing.play_agent(playing.retrieving_agent(one, bm25), one, names) for one in requests],
    }
    figures, made_R = dict[str, float](), dict[str, np.ndarray]()
    for side, own in played.items():
        made_R[side] = np.array([one.made for one in own])
        ended = float(np.mean([one.ended for one in own]))
        figures |= {f"agent/{side}/made": float(made_R[side].mean()), f"agent/{side}/ended": ended}
    figures |= interval_figures("gain/agent", made_R["generator"] - made_R["bm25"])
    return figures | interval_figures("gain/untuned", made_R["generator"] - made_R["untuned"])
