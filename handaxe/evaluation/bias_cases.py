"""Which credits and shapes the table of bias holds, each as it is used, and which it leaves out, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from handaxe.advantages.batch_norm import batch_norm
from handaxe.advantages.batch_whiten import batch_whiten
from handaxe.advantages.mask_shared_prefix import mask_shared_prefix
from handaxe.core.protocols import Credit, Shape
from handaxe.core.records import Group, Rated, Scores
from handaxe.credit.bi_level_gae import bi_level_gae
from handaxe.credit.constant_baseline import constant_baseline
from handaxe.credit.fork_norm import fork_norm
from handaxe.credit.gae import gae
from handaxe.credit.group_norm import group_norm
from handaxe.credit.kl_return import kl_return
from handaxe.credit.leave_one_out import leave_one_out
from handaxe.credit.on_tokens import on_tokens
from handaxe.credit.optimal_baseline import optimal_baseline
from handaxe.credit.return_to_go import return_to_go
from handaxe.credit.shared_prefix_mean import shared_prefix_mean
from handaxe.credit.total import total
from handaxe.credit.transformed import transformed
from handaxe.credit.turn_gae import turn_gae
from handaxe.credit.turn_norm import turn_norm
from handaxe.evaluation.bias import Case
from handaxe.ops.places import in_turn
from handaxe.papers.aepo.entropy_scaled import entropy_scaled
from handaxe.papers.dgrpo.difficulty_weight import difficulty_weight
from handaxe.papers.fathom.rescale_by_informative_groups import rescale_by_informative_groups
from handaxe.papers.ipa.clip_advantages import clip_advantages
from handaxe.papers.istar.step_leave_one_out import step_leave_one_out
from handaxe.papers.pure.min_form_return import min_form_return
from handaxe.papers.rl_mle.duration_weight import duration_weight
from handaxe.papers.thor.sibling_subset import sibling_subset

__all__ = ["CASES", "LEFT_OUT"]

LEFT_OUT: Mapping[str, str] = {
    "apart": "it gives what its credits give, each to a loss of its own",
    "checklist": "it needs the criteria of a task, which this process has none of",
    "credited_again": "it gives what its credit gives, under another reward",
    "hint_room": "it gives what its credit gives, and says how much further tokens may move",
    "rank_bonus": "it reads hidden states, which this process has none of",
    "score_scaled": "it multiplies what its credit gives by a number of the task",
    "shaped": "it gives what its credit and shapers give",
    "task_weight": "it multiplies what its credit gives by a number of the task",
    "turn_bonus": "it judges calls, and no turn of this process calls",
}
"""A file of `credit/` that is not measured, and why."""


def _case(credit: str, said: str, made: Credit, *, forks: bool = False) -> Case:
    return Case(credit, said, lambda: (made, None), forks=forks)


def _paid(group: Group, scores: Scores) -> np.ndarray:
    del group
    return scores.outcome > 0


def _timed(shape: Shape) -> Shape:
    """The shape, told that every turn took a second."""

    def told(one: Rated) -> Rated:
        siblings = tuple(
            replace(each, turns=tuple(replace(turn, seconds=1.0) for turn in each.turns)) for each in one.group
        )
        return replace(one, group=replace(one.group, trajectories=siblings))

    return lambda rated: shape([told(one) for one in rated])


def _matchtir() -> Credit:
    turns = turn_norm(norm="index", gamma=0.9, order="sum_first", lone="reward")
    return total({"attempt": (0.5, group_norm()), "turn": (0.5, turns)})


CASES: tuple[Case, ...] = (
    _case("leave_one_out", "leave_one_out()", leave_one_out()),
    _case("constant_baseline", "constant_baseline()", constant_baseline()),
    _case("group_norm", "group_norm(std=None)", group_norm(std=None)),
    _case("group_norm", "group_norm()", group_norm()),
    _case("group_norm", 'group_norm(std=None, unit="turn")', group_norm(std=None, unit="turn")),
    _case("group_norm", 'group_norm(unit="turn")', group_norm(unit="turn")),
    _case("optimal_baseline", "optimal_baseline()", optimal_baseline()),
    _case("return_to_go", "return_to_go()", return_to_go()),
    _case("return_to_go", "return_to_go(gamma=0.9)", return_to_go(gamma=0.9)),
    _case("kl_return", "kl_return()", kl_return()),
    _case("kl_return", 'kl_return(baseline="group")', kl_return(baseline="group")),
    _case("gae", "gae(lam=1)", gae(lam=1.0)),
    _case("gae", "gae()", gae()),
    _case("turn_gae", "turn_gae(lam=1)", turn_gae(lam=1.0)),
    _case("turn_gae", "turn_gae()", turn_gae()),
    _case("bi_level_gae", "bi_level_gae(turn_gamma=1, turn_lam=1)", bi_level_gae(turn_gamma=1.0, turn_lam=1.0)),
    _case("bi_level_gae", "bi_level_gae()", bi_level_gae()),
    _case("turn_norm", "turn_norm(norm=None)", turn_norm(norm=None)),
    _case("turn_norm", "turn_norm(std=None)", turn_norm(std=None)),
    _case("turn_norm", "turn_norm()", turn_norm()),
    _case("turn_norm", 'turn_norm(weigh="trajectory", std=None)', turn_norm(weigh="trajectory", std=None)),
    _case("turn_norm", 'turn_norm(norm="index", std=None)', turn_norm(norm="index", std=None)),
    _case("turn_norm", 'turn_norm(norm="index")', turn_norm(norm="index")),
    _case(
        "turn_norm",
        'turn_norm(norm="index", order="sum_first", std=None)',
        turn_norm(norm="index", order="sum_first", std=None),
    ),
    _case("turn_norm", 'turn_norm(norm="index", order="sum_first")', turn_norm(norm="index", order="sum_first")),
    _case("min_form", "min_form()", min_form_return()),
    _case("min_form", 'min_form(form="sum")', min_form_return(form="sum")),
    _case("step_leave_one_out", "step_leave_one_out()", step_leave_one_out()),
    _case("step_leave_one_out", "step_leave_one_out(released=True)", step_leave_one_out(released=True)),
    _case(
        "total",
        'total({"attempt": (1, leave_one_out()), "step": (1, step_leave_one_out())})',
        total({"attempt": (1.0, leave_one_out()), "step": (1.0, step_leave_one_out())}),
    ),
    _case("total", "total(...) as in MatchTIR", _matchtir()),
    _case("among", "among(leave_one_out(), outcome > 0)", sibling_subset(leave_one_out(), _paid)),
    _case(
        "bounded",
        "return_to_go(gamma=0.9, baseline=0.5) within bounded(0.2), as in the recipe ipa",
        transformed(return_to_go(gamma=0.9, baseline=0.5), clip_advantages(limit=0.2)),
    ),
    _case("on_tokens", "on_tokens(leave_one_out(), where=in_turn(0))", on_tokens(leave_one_out(), where=in_turn(0))),
    Case("batch_norm", "batch_norm()", lambda: (group_norm(std=None), batch_norm()), groups=2),
    Case("batch_norm", 'batch_norm(mean="batch")', lambda: (group_norm(std=None), batch_norm(mean="batch")), groups=2),
    Case(
        "batch_norm",
        'batch_norm(of="centred")',
        lambda: (group_norm(std=None), batch_norm(of="centred")),
        groups=2,
    ),
    Case(
        "batch_norm",
        'batch_norm(of="standardised")',
        lambda: (group_norm(std=None), batch_norm(of="standardised")),
        groups=2,
    ),
    Case("batch_whiten", "batch_whiten() of return_to_go()", lambda: (return_to_go(), batch_whiten()), groups=2),
    Case(
        "entropy_scaled", "entropy_scaled() of leave_one_out()", lambda: (leave_one_out(), entropy_scaled()), groups=2
    ),
    Case(
        "useful_share",
        "useful_share() of group_norm(std=None)",
        lambda: (group_norm(std=None), rescale_by_informative_groups()),
        groups=2,
    ),
    Case(
        "difficulty_weight",
        "difficulty_weight() of leave_one_out()",
        lambda: (leave_one_out(), difficulty_weight()),
        groups=2,
    ),
    Case(
        "duration_weight",
        "duration_weight() of leave_one_out(), a second a turn, without a race",
        lambda: (leave_one_out(), _timed(duration_weight())),
        groups=2,
    ),
    _case("group_norm", "group_norm(std=None)", group_norm(std=None), forks=True),
    _case("group_norm", "group_norm()", group_norm(), forks=True),
    _case("return_to_go", "return_to_go()", return_to_go(), forks=True),
    _case("shared_prefix_mean", "shared_prefix_mean()", shared_prefix_mean(), forks=True),
    _case("own_part", "own_part() of return_to_go()", transformed(return_to_go(), mask_shared_prefix()), forks=True),
    _case("fork_norm", "fork_norm(std=None)", fork_norm(std=None), forks=True),
    _case("fork_norm", "fork_norm()", fork_norm(), forks=True),
)
