"""Pipelines of `handaxe synthesize`: trajectories from the tool graph (A), environments from questions (B)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.ops.seeds import derive_seed
from handaxe.papers.astra.arena import arena, draw_trace
from handaxe.papers.astra.environment import environment_task, written_rows
from handaxe.papers.astra.graph_lessons import TURNS
from handaxe.papers.astra.graph_tasks import chain_runs, graph_parts, graph_task, observed_graph, question_score
from handaxe.papers.astra.qa_traces import QaTrace
from handaxe.papers.astra.records import TypedRecords, make_records
from handaxe.papers.astra.sub_questions import SubQuestion, decompose, needs_tools, score_decomposition
from handaxe.papers.astra.tool_writing import merge_tools
from handaxe.papers.astra.trajectory_axes import trajectory_axes
from handaxe.synthesis import steps
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.draft import SynthesisDraft, make_draft
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.parts.demonstrate import demonstrate

__all__ = ["astra_environments", "astra_trajectories"]


def astra_trajectories(
    at: PipelineContext,
    *,
    outages: float = 0.2,
    keep: float = 0.5,
    size: int = 200,
    world_seed: int = 0,
    batch: int = 256,
) -> Pipeline:
    """Make tasks for walks of the tool graph, play them against failing tools, and keep those of the best trajectories.

        walk -> edges -> write -> play -> dedupe -> decontaminate

    Args:
        outages: share of calls that fail.
        keep: share of a round's trajectories with the best mean of seven axes, above 0 and up to 1.
        size: names of each kind in the records.
        world_seed: of the records.
        batch: walks of a round.

    Example:
        keep 0.5: of 40 played tasks of a round the 20 with the best mean of axes are kept

    Paper: arXiv:2601.21558 (ASTRA), synthesis of trajectories.
    Differs: see `handaxe show 25`.
    """
    _check(at, keep=keep)
    records = make_records(seed=world_seed, size=size)
    chosen = (
        _walk_step(records),
        _edge_step(records),
        _task_step(records),
        _play_step(outages, keep, size, world_seed),
        steps.dedupe(),
        steps.decontaminate(at.tests),
    )
    return Pipeline("astra_trajectories", chosen, batch=batch, about={"size": size, "world_seed": world_seed})


def astra_environments(
    at: PipelineContext,
    *,
    percentile: float = 90.0,
    tries: int = 20,
    distractors: tuple[int, int, int] = (1, 1, 1),
    size: int = 200,
    world_seed: int = 0,
    batch: int = 256,
) -> Pipeline:
    """Make environments of questions with answers and documents.

        trace -> decompose -> verify -> write_tools -> merge_tools -> dedupe -> decontaminate

    Args:
        percentile: of the scores of a round, from which a decomposition is kept; 90 in the paper.
        tries: orders of merged data; 20 in the paper.
        distractors: tools of high, middle and low similarity.
        size: names of each kind in the records.
        world_seed: of the records.
        batch: traces of a round.

    Example:
        percentile 90: of the means 0.5, 0.7, 0.8, 0.9, 1.0 only 1.0 is kept, since the percentile is 0.96

    Paper: arXiv:2601.21558 (ASTRA), synthesis of environments.
    Differs: see `handaxe show 25`.
    """
    _check(at, keep=1.0)
    if not 0 <= percentile <= 100 or tries < 1 or min(distractors) < 0:
        raise InputError(f"percentile 0 to 100, tries from 1, distractors from 0: {percentile}, {tries}, {distractors}")
    records = make_records(seed=world_seed, size=size)
    chosen = (
        _trace_step(records),
        SynthesisStep("decompose", _decomposed),
        _verify_step(percentile),
        SynthesisStep("write_tools", _written),
        _merge_step(tries, distractors),
        steps.dedupe(),
        steps.decontaminate(at.tests),
    )
    return Pipeline("astra_environments", chosen, batch=batch, about={"size": size, "world_seed": world_seed})


def _check(at: PipelineContext, *, keep: float) -> None:
    if at.world.name != "arena":
        raise InputError(f"the tasks of this pipeline are of the world arena, not {at.world.name}: give --world arena")
    if at.desk is not None:
        raise InputError("rules propose in this pipeline; leave --proposer out")
    if not 0 < keep <= 1:
        raise InputError(f"keep is {keep}; give a share above 0, up to 1")


def _rng(draft: SynthesisDraft, at: SynthesisContext, step: str) -> random.Random:
    return random.Random(derive_seed("astra", step, at.seed, draft.id))


# --- A: trajectories -------------------------------------------------------------------------------------------------


def _walk_step(records: TypedRecords) -> SynthesisStep:
    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        graph = observed_graph(at.seed)
        made = [graph_parts(records, graph, _rng(one, at, "walk")) for one in drafts]
        return [
            kept(make_draft("walk", {"parts": [[start, list(chain)] for start, chain in parts]}, parents=(one.id,)))
            for one, parts in zip(drafts, made, strict=True)
        ]

    return SynthesisStep("walk", run)


def _edge_step(records: TypedRecords) -> SynthesisStep:
    def one(draft: SynthesisDraft) -> DraftOutcome:
        runs = all(chain_runs(records, start, chain) for start, chain in draft.payload["parts"])
        return kept(draft) if runs else dropped("an edge fails")

    return SynthesisStep("edges", lambda drafts, at: at.map(one, drafts))


def _task_step(records: TypedRecords) -> SynthesisStep:
    def one(draft: SynthesisDraft, at: SynthesisContext) -> DraftOutcome:
        parts = [(start, chain) for start, chain in draft.payload["parts"]]
        task = graph_task(records, parts, _rng(draft, at, "write"), name="")
        if task is None:
            return dropped("no tool accepted")
        score = question_score(parts, task)
        return kept(task_draft(task, parents=(draft.id,))) if score == 1 else dropped("low score of the question")

    return SynthesisStep("write", lambda drafts, at: at.map(lambda draft: one(draft, at), drafts))


def _play_step(outages: float, keep: float, size: int, world_seed: int) -> SynthesisStep:
    world = arena(outages=outages, size=size, world_seed=world_seed)
    env, expert = world.env(()), world.need("expert")

    def axes(draft: SynthesisDraft, at: SynthesisContext) -> SynthesisDraft:
        seed = derive_seed("astra play", at.seed, draft.id)
        task, chat = draft_task(draft), Transcript()
        played = demonstrate(env, task, expert, format=chat, seed=seed, max_turns=TURNS)
        found = trajectory_axes(played)
        return draft.noted({"axes": found._asdict(), "mean": found.mean, "play_seed": seed})

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        noted = at.map(lambda draft: axes(draft, at), drafts)
        ranked = sorted(noted, key=lambda one: (-one.notes["mean"], one.id))
        best = {one.id for one in ranked[: max(1, round(keep * len(ranked)))]}
        return [kept(one) if one.id in best else dropped("low axes") for one in noted]

    return SynthesisStep("play", run, settings={"outages": outages, "keep": keep}, whole=True)


# --- B: environments -------------------------------------------------------------------------------------------------


def _trace_step(records: TypedRecords) -> SynthesisStep:
    def one(draft: SynthesisDraft, at: SynthesisContext) -> DraftOutcome:
        trace = draw_trace(records, "train", _rng(draft, at, "trace"))
        payload = {**trace._asdict(), "documents": [list(one) for one in trace.documents]}
        return kept(make_draft("trace", payload, parents=(draft.id,)))

    return SynthesisStep("trace", lambda drafts, at: [one(draft, at) for draft in drafts])


def _decomposed(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
    del at
    out = list[DraftOutcome]()
    for draft in drafts:
        trace = _trace(draft.payload)
        subs = decompose(trace)
        if not needs_tools(trace, subs):
            out.append(dropped("no tool needed"))
            continue
        payload = {"trace": dict(draft.payload), "subs": [list(one) for one in subs]}
        out.append(kept(make_draft("question", payload, parents=(draft.id,))))
    return out


def _verify_step(percentile: float) -> SynthesisStep:
    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        del at
        found = [score_decomposition(_trace(one.payload["trace"]), _subs(one)) for one in drafts]
        least = float(np.percentile([one.mean for one in found], percentile)) if found else 0.0
        return [
            kept(draft.noted({"scores": list(one), "mean": one.mean})) if one.mean >= least else dropped("low scores")
            for draft, one in zip(drafts, found, strict=True)
        ]

    return SynthesisStep("verify", run, settings={"percentile": percentile}, whole=True)


def _written(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
    def one(draft: SynthesisDraft) -> DraftOutcome:
        rows = written_rows(_subs(draft), _rng(draft, at, "write_tools"))
        if rows is None:
            return dropped("no tool accepted")
        payload = {**draft.payload, "rows": [[list(row) for row in own] for own in rows]}
        return kept(make_draft("tools", payload, parents=(draft.id,), notes=draft.notes))

    return at.map(one, drafts)


def _merge_step(tries: int, distractors: tuple[int, int, int]) -> SynthesisStep:
    def one(draft: SynthesisDraft, at: SynthesisContext) -> DraftOutcome:
        rng, subs = _rng(draft, at, "merge_tools"), _subs(draft)
        rows = [tuple((key, value) for key, value in own) for own in draft.payload["rows"]]
        codes = merge_tools(subs, rows, rng, tries=tries)
        if codes is None:
            return dropped("no merge accepted")
        task = environment_task(_trace(draft.payload["trace"]), subs, codes, rng, counts=distractors)
        return kept(task_draft(task, parents=(draft.id,), notes=draft.notes))

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        return at.map(lambda draft: one(draft, at), drafts)

    return SynthesisStep("merge_tools", run, settings={"tries": tries, "distractors": list(distractors)})


def _trace(payload: Any) -> QaTrace:
    documents = tuple((table, key, value) for table, key, value in payload["documents"])
    return QaTrace(payload["question"], payload["answer"], documents)


def _subs(draft: SynthesisDraft) -> list[SubQuestion]:
    return [SubQuestion(*one) for one in draft.payload["subs"]]
