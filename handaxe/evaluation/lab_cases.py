"""Every reward and judge of the library as the lab tries it: how it is made, and in which world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import handaxe.rewards as pay
from handaxe.core.protocols import Reward
from handaxe.core.records import Group
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.lab import of_judge
from handaxe.evaluation.scenes import make_scenes
from handaxe.judges.implicit_prm import implicit_prm
from handaxe.judges.noisy import noisy
from handaxe.judges.step_status import step_status
from handaxe.judges.verdict_token import verdict_token
from handaxe.models.embeddings import embeddings
from handaxe.models.load import load
from handaxe.papers.adareasoner.call_schema import call_schema
from handaxe.papers.agent_evolver.earned_steps import earned_steps
from handaxe.papers.artist.call_match import call_match
from handaxe.papers.bleuberi.described import described
from handaxe.papers.calibrated.brier_confidence import brier_confidence
from handaxe.papers.calibrated.confident_sums import confident_sums
from handaxe.papers.calibrated.margin_confidence import margin_confidence
from handaxe.papers.calm.subgoals import subgoals
from handaxe.papers.chartmaster.charts import charts, same_picture
from handaxe.papers.cm2.checklist import checklist
from handaxe.papers.codedance.difficulty_bonus import difficulty_bonus
from handaxe.papers.deepsport.no_repeats import no_repeats
from handaxe.papers.deepsport.tool_use_bonus import tool_use_bonus
from handaxe.papers.fathom.redundant_calls import redundant_calls
from handaxe.papers.ftrl.solve_f1 import solve_f1
from handaxe.papers.ftrl.toolchains import toolchains
from handaxe.papers.gated.outcome_state import outcome_state
from handaxe.papers.gated.workspace import state_of, workspace
from handaxe.papers.geovista.alignment import alignment
from handaxe.papers.geovista.places import city_of, levels_right, places
from handaxe.papers.geovista.query_leak import query_leak
from handaxe.papers.hdpo.economy import economy
from handaxe.papers.hybrid.rule_or_model import CONFIDENCE, rule_or_model
from handaxe.papers.hybrid.text_similarity import text_similarity
from handaxe.papers.marag.shelves import found_documents, gold_documents, needed_calls, shelves
from handaxe.papers.matchtir.assigned_calls import assigned_calls
from handaxe.papers.mixed_r1.embedding_match import embedding_match
from handaxe.papers.mixed_r1.mixed import judged, mixed
from handaxe.papers.molact.molecules import changed_groups, gained, kept_likeness, molecules
from handaxe.papers.mua_rl.state_and_outputs import state_and_outputs
from handaxe.papers.otc.fewer_calls import fewer_calls
from handaxe.papers.portool.shared_steps import shared_steps
from handaxe.papers.ppr.outcome_bounded_steps import outcome_bounded_steps
from handaxe.papers.reasoning_sql.tables import same_bigrams, same_items, tables
from handaxe.papers.reasoning_sql.tags_in_order import tags_in_order
from handaxe.papers.router_r1.running_cost import running_cost
from handaxe.papers.tapo.edit_similarity import edit_similarity
from handaxe.papers.tapo.tag_grammar import tag_grammar
from handaxe.papers.tgrl.signed_answer import signed_answer
from handaxe.papers.tgrl.signed_format import signed_format
from handaxe.papers.tgrl.unseen_gym import unseen_gym
from handaxe.papers.tiger.projection import projection
from handaxe.papers.tiger.reply_match import reply_match
from handaxe.papers.tool_orchestra.preference_weighted import preference_weighted
from handaxe.papers.tool_star.fact_sums import fact_sums
from handaxe.papers.toolrl.thought_length import thought_length
from handaxe.rewards.box_overlap import Measure
from handaxe.rewards.parts.extract import final_text, last_number
from handaxe.tools.index.dense import embed
from handaxe.worlds.bfcl.world import bfcl, equal_state, whole_state
from handaxe.worlds.calls import calls
from handaxe.worlds.glimpse.views import gold_region, last_region
from handaxe.worlds.glimpse.world import glimpse
from handaxe.worlds.hops.world import hops
from handaxe.worlds.parts.answering import given_answer
from handaxe.worlds.priced.world import priced
from handaxe.worlds.screen.layout import SIDES, gold_box, said_box
from handaxe.worlds.screen.world import NEAR, screen
from handaxe.worlds.slips import slips
from handaxe.worlds.sums import sums
from handaxe.worlds.tau2.world import tau2
from handaxe.worlds.world import World

__all__ = ["LAB_CASES", "LabCase"]

MakeWorld = Callable[[], World]


@dataclass(frozen=True)
class LabCase:
    """A reward or judge to be tried.

    Args:
        mechanism: the file it stands in.
        said: how it is made, in Python, shortened.
        world: where it is tried.
        make: makes it for that world.
        room: of the file.
        model: whether a model is asked, or what it says hangs on the clock: it is left out of checks of the page.
    """

    mechanism: str
    said: str
    world: MakeWorld
    make: Callable[[World], Reward]
    room: Literal["rewards", "judges"] = "rewards"
    model: bool = False

    @property
    def key(self) -> object:
        """Equal for cases in equal worlds."""
        made = self.world
        return (made.func, repr(sorted(made.keywords.items()))) if isinstance(made, partial) else (made, "[]")


TAUGHT = 24
"""Tasks of whose right and wrong attempts the learned judge learns."""
BOX = partial(screen, answer="box", boxes=3, loose=0.2)
ACTION = partial(screen, answer="action")
LOOK = partial(glimpse, kind="row", loose=6)
SHORT = partial(bfcl, category=("short",))
PHONE = partial(tau2, domain="telecom", mode="user")
EDIT = partial(molecules, kinds=("edit",))
GAIN = partial(molecules, kinds=("optimise",))


def _correct(world: World) -> Reward:
    return world.correct


def _sure(world: World) -> Reward:
    """What is right, and how sure a rule is of it, as in the recipe `hybrid`."""
    sure = pay.outcome(lambda one: float(bool(last_number(one))))
    rule = pay.weighted({"right": (1.0, world.correct), CONFIDENCE: (0.0, sure)})
    return rule_or_model(rule=rule, model=text_similarity(encode=embed), trust=0.8)


def _overlap(measure: Measure) -> Callable[[World], Reward]:
    return lambda world: pay.box_overlap(found=said_box, gold=gold_box, sides=SIDES, measure=measure)


def _words(world: World) -> Reward:
    del world
    return judged(words=embedding_match(embed=embeddings(load("tiny"))))


def _labelled(world: World) -> Reward:
    return pay.step_labels(base=world.correct, judge=step_status())


def _thoughts(world: World) -> Reward:
    return pay.step_labels(base=world.correct, judge=step_status(), scale=1.0, merge=True, adaptive=True)


def _shared(world: World) -> Reward:
    return pay.consistent_share(base=world.correct, judge=step_status())


def _earned(world: World) -> Reward:
    return of_judge(earned_steps(criteria=world.need("criteria"), check=world.need("check")))


def _asked(world: World) -> Reward:
    del world
    policy = load("tiny")
    return of_judge(verdict_token(engine=LocalEngine(policy.model), format=policy.format))


def _taught_prm(world: World) -> Reward:
    """An implicit PRM that has seen right and wrong attempts at training tasks, and no attack."""
    engine = LocalEngine(load("tiny").model, reference=True)
    judge = implicit_prm(engine=engine, learning_rate=3e-4, epochs=8)
    scenes = make_scenes(world, tasks=world.tasks("train", 2 * TAUGHT, 0), count=TAUGHT)
    groups = [Group(one.task, (one.oracle, one.wrong)) for one in scenes]
    judge.fit([(group, world.correct(group)) for group in groups])
    return of_judge(judge)


LAB_CASES: tuple[LabCase, ...] = (
    # the right answer
    LabCase("exact_match", "exact_match()", sums, lambda world: pay.exact_match()),
    LabCase("exact_match", "exact_match()", described, lambda world: pay.exact_match()),
    LabCase(
        "exact_match", "exact_match(extract=last_number)", sums, lambda world: pay.exact_match(extract=last_number)
    ),
    LabCase("numeric_match", "numeric_match()", sums, lambda world: pay.numeric_match()),
    LabCase("math_match", "math_match()", sums, lambda world: pay.math_match(), model=True),
    LabCase(
        "signed_answer",
        "signed_answer(...)",
        unseen_gym,
        lambda world: signed_answer(correct=world.correct, answer=given_answer),
    ),
    LabCase("token_f1", "token_f1()", described, lambda world: pay.token_f1()),
    LabCase("bleu", "bleu()", described, lambda world: pay.bleu()),
    LabCase("bleu", "bleu(smooth=False, limit=True)", hops, lambda world: pay.bleu(smooth=False, limit=True)),
    LabCase("edit_similarity", "edit_similarity()", described, lambda world: edit_similarity()),
    LabCase("embedding_match", "embedding_match(...)", mixed, _words),
    LabCase(
        "text_similarity",
        "text_similarity(...)",
        described,
        lambda world: text_similarity(encode=embed),
        model=True,
    ),
    LabCase("label_depth", "label_depth(...)", places, lambda world: levels_right()),
    LabCase("rule_or_model", "rule_or_model(..., trust=0.8)", sums, _sure, model=True),
    LabCase("answer_score", "answer_score(...)", sums, _correct),
    LabCase("answer_score", "answer_score(...)", unseen_gym, _correct),
    LabCase(
        "set_overlap",
        "set_overlap(...)",
        shelves,
        lambda world: pay.set_overlap(found=found_documents, gold=gold_documents),
    ),
    LabCase("set_overlap", "set_overlap(...), items", tables, lambda world: same_items()),
    LabCase("set_overlap", "set_overlap(...), pairs of tokens", tables, lambda world: same_bigrams()),
    LabCase("box_overlap", 'box_overlap(measure="iou")', BOX, _overlap("iou")),
    LabCase("box_overlap", 'box_overlap(measure="recall")', BOX, _overlap("recall")),
    LabCase("box_overlap", 'box_overlap(measure="centre")', BOX, _overlap("centre")),
    LabCase("sql_rows", "sql_rows(...)", tables, _correct),
    # the right calls
    LabCase("call_match", "call_match(...)", SHORT, lambda world: call_match(gold=world.need("reference"))),
    LabCase("graded_call", "graded_call(...)", calls, lambda world: pay.graded_call(gold=world.need("reference"))),
    LabCase(
        "graded_call",
        'graded_call(grade="coarse")',
        calls,
        lambda world: pay.graded_call(gold=world.need("reference"), grade="coarse"),
    ),
    LabCase(
        "assigned_calls",
        "assigned_calls(...)",
        hops,
        lambda world: assigned_calls(gold=world.need("reference"), answered=world.need("answered")),
    ),
    LabCase("action_score", "action_score(...)", hops, lambda world: pay.action_score(gold=world.need("reference"))),
    LabCase(
        "action_match",
        "action_match(...)",
        ACTION,
        lambda world: pay.action_match(gold=world.need("reference"), box=gold_box, near=NEAR),
    ),
    LabCase("solve_f1", "solve_f1()", toolchains, lambda world: solve_f1()),
    LabCase("call_schema", "call_schema()", calls, lambda world: call_schema()),
    # the right state
    LabCase(
        "state_match",
        "state_match(...)",
        SHORT,
        lambda world: pay.state_match(gold=whole_state, state=equal_state),
    ),
    LabCase("state_and_outputs", "state_and_outputs()", PHONE, lambda world: state_and_outputs()),
    LabCase("outcome_state", "outcome_state(...)", workspace, lambda world: outcome_state(state=state_of)),
    LabCase(
        "checklist",
        "checklist(...)",
        hops,
        lambda world: checklist(criteria=world.need("criteria"), check=world.need("check")),
    ),
    LabCase(
        "rubric_points",
        "rubric_points(...)",
        hops,
        lambda world: pay.rubric_points(criteria=world.need("criteria"), check=world.need("check")),
    ),
    LabCase(
        "subgoals",
        "subgoals(...)",
        hops,
        lambda world: subgoals(criteria=world.need("criteria"), check=world.need("check")),
    ),
    # tools are used, and used well
    LabCase("used_tools", "used_tools()", slips, lambda world: pay.used_tools()),
    LabCase("gated_use", "gated_use(...)", LOOK, lambda world: tool_use_bonus(base=world.correct)),
    LabCase("tool_success", "tool_success()", slips, lambda world: pay.tool_success()),
    LabCase("reply_status", "reply_status()", slips, lambda world: pay.reply_status()),
    LabCase(
        "reply_match",
        'reply_match(tools=("calculator",))',
        projection,
        lambda world: reply_match(tools=("calculator",), rel_tol=0.01),
    ),
    LabCase("annealed_calls", "annealed_calls(scale=1)", slips, lambda world: pay.annealed_calls(scale=1.0)),
    LabCase("redundant_calls", "redundant_calls(...)", hops, lambda world: redundant_calls(base=world.correct)),
    LabCase("failure_shaping", "failure_shaping(...)", slips, lambda world: pay.failure_shaping(base=world.correct)),
    # few calls
    LabCase("fewer_calls", "fewer_calls(smooth=3)", slips, lambda world: fewer_calls(base=world.correct, smooth=3)),
    LabCase("economy", "economy(...)", slips, lambda world: economy(base=world.correct)),
    LabCase("call_economy", "call_economy()", slips, lambda world: pay.call_cost()),
    LabCase(
        "call_economy",
        'call_economy(form="near")',
        shelves,
        lambda world: pay.call_cost(form="near", reference=needed_calls),
    ),
    LabCase(
        "difficulty_bonus",
        "difficulty_bonus(bonus=tool_success())",
        slips,
        lambda world: difficulty_bonus(base=world.correct, bonus=pay.tool_success()),
    ),
    LabCase("running_cost", "running_cost(...)", priced, lambda world: running_cost(base=world.correct)),
    LabCase(
        "preference_weighted",
        "preference_weighted(...)",
        partial(priced, likes=("cheap",)),
        lambda world: preference_weighted(base=world.correct),
    ),
    # form and length
    LabCase("well_formed", "well_formed()", slips, lambda world: pay.well_formed()),
    LabCase("signed_format", "signed_format()", unseen_gym, lambda world: signed_format()),
    LabCase("tag_grammar", 'tag_grammar(grammar="sql")', tables, lambda world: tag_grammar(grammar="sql")),
    LabCase("tags_in_order", 'tags_in_order(tags=("sql",))', tables, lambda world: tags_in_order(tags=("sql",))),
    LabCase("no_repeats", "no_repeats()", slips, lambda world: no_repeats()),
    LabCase("query_leak", "query_leak(...)", places, lambda world: query_leak(answers=city_of)),
    LabCase("alignment", "alignment(...)", places, lambda world: alignment(correct=world.correct, answers=city_of)),
    LabCase(
        "thought_length",
        "thought_length(target=8, ...)",
        described,
        lambda world: thought_length(target=8, thought=final_text),
    ),
    LabCase("overlong", "overlong(limit=64, cache=32)", slips, lambda world: pay.overlong(limit=64, cache=32)),
    LabCase("within_length", "within_length(...)", slips, lambda world: pay.within_length(reward=world.correct)),
    # every step
    LabCase("shared_steps", "shared_steps(...)", slips, lambda world: shared_steps(base=world.correct)),
    LabCase(
        "judged_steps",
        "judged_steps(judge=step_status())",
        slips,
        lambda world: pay.judged_steps(judge=step_status()),
    ),
    LabCase(
        "outcome_bounded_steps",
        "outcome_bounded_steps(process=tool_success())",
        hops,
        lambda world: outcome_bounded_steps(process=pay.tool_success(per="turn"), outcome=world.correct),
    ),
    LabCase("step_labels", "step_labels(judge=step_status())", hops, _labelled),
    LabCase("step_labels", "step_labels(merge=True, adaptive=True)", hops, _thoughts),
    LabCase("consistent_share", "consistent_share(judge=step_status())", hops, _shared),
    # how sure one may be
    LabCase(
        "margin_confidence",
        "margin_confidence(...)",
        confident_sums,
        lambda world: margin_confidence(correct=world.correct),
    ),
    LabCase(
        "brier_confidence",
        "brier_confidence(...)",
        confident_sums,
        lambda world: brier_confidence(correct=world.correct),
    ),
    # molecules, pictures, stretches of a row
    LabCase("group_count_change", "group_count_change(...)", EDIT, lambda world: changed_groups()),
    LabCase("property_gain", "property_gain(...)", GAIN, lambda world: gained()),
    LabCase("fingerprint_similarity", "fingerprint_similarity(...)", EDIT, lambda world: kept_likeness()),
    LabCase("image_similarity", "image_similarity(...)", charts, lambda world: same_picture()),
    LabCase(
        "box_overlap",
        'box_overlap(measure="recall"), of a look',
        LOOK,
        lambda world: pay.box_overlap(found=last_region, gold=gold_region, measure="recall"),
    ),
    # judges
    LabCase("step_status", "step_status()", slips, lambda world: of_judge(step_status()), "judges"),
    LabCase("noisy", "noisy(judge=step_status())", slips, lambda world: of_judge(noisy(judge=step_status())), "judges"),
    LabCase("earned_steps", "earned_steps(...)", hops, _earned, "judges"),
    LabCase("verdict_token", "verdict_token(...), untaught", hops, _asked, "judges", model=True),
    LabCase("implicit_prm", "implicit_prm(), taught right and wrong", fact_sums, _taught_prm, "judges", model=True),
)
