"""Pipeline of `handaxe synthesize`: tool environments, built in the steps of FTRL."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.papers.ftrl.asked_environments import AskedWriter
from handaxe.papers.ftrl.build_environment import accepted, built_task, distractor_tools, merge_some, scale_some
from handaxe.papers.ftrl.environment_writer import EnvironmentWriter, RuleWriter, SeededId, ToolCalls, Written
from handaxe.papers.ftrl.local_tools import LocalTool
from handaxe.papers.ftrl.sub_steps import Scenario, check_scenario
from handaxe.papers.ftrl.toolchains import SCENARIOS
from handaxe.papers.ftrl.toolchains_tools import RELATIONS
from handaxe.synthesis import steps
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.draft import SynthesisDraft, make_draft
from handaxe.synthesis.pipeline import Pipeline
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.hops.knowledge_base import KnowledgeBase, build_facts

__all__ = ["ftrl_environments"]

Payload = tuple[Scenario, list[ToolCalls]]


def ftrl_environments(
    at: PipelineContext,
    *,
    merged: float = 0.5,
    scaled: float = 0.5,
    distractors: int = 2,
    size: int = 200,
    world_seed: int = 0,
    batch: int = 128,
) -> Pipeline:
    """Build environments: questions of four kinds, with tools in the sandbox.

        scenario -> document -> deploy -> integrate -> scale -> dedupe -> decontaminate

    By default rules write all parts over invented facts; a model of --proposer writes scenarios, documents and code.
    Integration and scaling are programs over tools of either author. Code is executed after each change.

    Args:
        merged: share of scenarios with two merged tools, if two have equal parameters.
        scaled: share of tools with a further, optional parameter.
        distractors: tools without a use, 0 to 4.
        size: people of the facts, 16 to 900.
        world_seed: of the facts.
        batch: scenarios of a round.

    Example:
        "4071 boss ally?": boss("4071") -> 5526, ally("5526") -> 1390; merged, boss_or_ally("boss", "4071") -> 5526

    Paper: arXiv:2508.08791 (FTRL), automated construction of environments.
    Unconfirmed: shares of merged and extended tools; the checks of a decomposition.
    Differs: code is written before integration and scaling, which are programs; in the paper a language model does
    both.
    """
    if at.world.name != "built_chains":
        raise InputError(f"the tasks of this pipeline are of the world built_chains, not {at.world.name}")
    if not 0 <= merged <= 1 or not 0 <= scaled <= 1 or not 0 <= distractors <= 4:
        raise InputError(f"merged and scaled are shares, distractors 0 to 4: {merged}, {scaled}, {distractors}")
    known = build_facts(seed=world_seed, size=size, distractors=0, relations=RELATIONS, digits=True)
    writer: EnvironmentWriter = RuleWriter(known, known.halves[0]) if at.desk is None else AskedWriter(at.desk)
    chosen = (
        _scenario_step(writer),
        _document_step(writer),
        _deploy_step(writer),
        _change_step("integrate", merged, merge_some),
        _scale_step(known, scaled, distractors),
        steps.dedupe(similarity=1.1),
        steps.decontaminate(at.tests),
    )
    return Pipeline("ftrl_environments", chosen, batch=batch, about={"size": size, "world_seed": world_seed})


def _scenario_step(writer: EnvironmentWriter) -> SynthesisStep:
    kinds = tuple(SCENARIOS)

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        seeds = [
            SeededId(one.id, kinds[int(one.payload["number"]) % len(kinds)], derive_seed("ftrl", at.seed, one.id))
            for one in drafts
        ]
        return [_scenario(one, it) for one, it in zip(drafts, writer.scenarios(seeds), strict=True)]

    return SynthesisStep("scenario", run, settings=writer.settings)


def _scenario(draft: SynthesisDraft, written: Written) -> DraftOutcome:
    reason = written.reason or check_scenario(written.value)
    made = dropped(reason) if reason else kept(make_draft("scenario", _json(written.value, ()), parents=(draft.id,)))
    return made._replace(asked=written.asked)


def _document_step(writer: EnvironmentWriter) -> SynthesisStep:
    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        del at
        found = writer.documents([(one.id, _read(one)[0]) for one in drafts])
        return [_tools(one, it) for one, it in zip(drafts, found, strict=True)]

    return SynthesisStep("document", run)


def _deploy_step(writer: EnvironmentWriter) -> SynthesisStep:
    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        found = writer.codes([(one.id, *_read(one)) for one in drafts], at.seed)
        out = [_tools(one, it) for one, it in zip(drafts, found, strict=True)]
        return at.map(_executed, out)

    return SynthesisStep("deploy", run)


def _executed(outcome: DraftOutcome) -> DraftOutcome:
    """The outcome, or a dropped draft if a tool gives another result."""
    if all(accepted(*_read(one)) for one in outcome.kept):
        return outcome
    return dropped("a call has another result")._replace(asked=outcome.asked)


def _change_step(name: str, share: float, change: Callable[..., list[ToolCalls]]) -> SynthesisStep:
    def one(draft: SynthesisDraft, at: SynthesisContext) -> DraftOutcome:
        scenario, tools = _read(draft)
        made = change(tools, random.Random(derive_seed("ftrl", name, at.seed, draft.id)), share=share)
        return _executed(kept(make_draft("tools", _json(scenario, made), parents=(draft.id,), notes=draft.notes)))

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        return at.map(lambda draft: one(draft, at), drafts)

    return SynthesisStep(name, run, settings={"share": share})


def _scale_step(known: KnowledgeBase, share: float, distractors: int) -> SynthesisStep:
    def one(draft: SynthesisDraft, at: SynthesisContext) -> DraftOutcome:
        rng = random.Random(derive_seed("ftrl", "scale", at.seed, draft.id))
        scenario, tools = _read(draft)
        made = scale_some(tools, rng, share=share)
        if not accepted(scenario, made):
            return dropped("a call has another result")
        names = [one.tool.name for one in made]
        task = built_task(scenario, made, distractor_tools(known, names, rng, count=distractors, share=share))
        notes = {
            "merged": sum("kind" in one.tool.parameters for one in made),
            "scaled": sum(bool(one.tool.optional) for one in made),
        }
        return kept(task_draft(task, parents=(draft.id,), notes=notes))

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        return at.map(lambda draft: one(draft, at), drafts)

    return SynthesisStep("scale", run, settings={"share": share, "distractors": distractors})


def _tools(draft: SynthesisDraft, written: Written) -> DraftOutcome:
    if written.reason:
        return dropped(written.reason)._replace(asked=written.asked)
    made = make_draft("tools", _json(_read(draft)[0], written.value), parents=(draft.id,))
    return kept(made)._replace(asked=written.asked)


def _json(scenario: Scenario, tools: Sequence[ToolCalls]) -> dict[str, Any]:
    rows: list[dict[str, Any]] = [
        {
            "tool": {**one.tool._asdict(), "optional": dict(one.tool.optional)},
            "calls": [[k, dict(v)] for k, v in one.calls.items()],
        }
        for one in tools
    ]
    return {**scenario._asdict(), "steps": [list(one) for one in scenario.steps], "tools": rows}


def _read(draft: SynthesisDraft) -> Payload:
    rows = draft.payload.get("tools", ())
    tools = [ToolCalls(LocalTool(**one["tool"]), {int(k): given for k, given in one["calls"]}) for one in rows]
    return Scenario.from_json(draft.payload), tools
