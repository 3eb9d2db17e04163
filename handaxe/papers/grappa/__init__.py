"""GRAPPA (arXiv:2410.06473): guidance of agents, mixed online into the action distribution of a base policy."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.methods.method import StudyFunction
from handaxe.methods.study_source import study_desk
from handaxe.ops.seeds import generator
from handaxe.ops.stats import interval_figures
from handaxe.papers.grappa.advisor import GuidanceBrief, asked_advisor, rule_advisor
from handaxe.papers.grappa.cloned_policy import ClonedPolicy, clone_expert, random_moves
from handaxe.papers.grappa.guided_episode import GuidanceRoles, GuidedEpisode, guided_episode
from handaxe.papers.grappa.mix_guidance import MixForm
from handaxe.papers.grappa.monitor import asked_monitor, rule_monitor
from handaxe.worlds.minigrid_text.grid import GridGame

__all__ = ["grappa"]

SHIFT = 500
"""First seed of the shifted grids."""


class _Arm(NamedTuple):
    """alpha 0 is the base policy; without a monitor, the first guidance function stays."""

    alpha: float
    monitored: bool


def grappa(
    *,
    scenes: int = 8,
    episodes: int = 6,
    alpha: float = 0.8,
    form: MixForm = "logits",
    size: int = 6,
    limit: int = 60,
    advisor: str = "rule",
    monitor: str = "rule",
) -> StudyFunction:
    """Guide cloned policies in the grid of their demonstrations and in shifted grids. Nothing trains.

    A scene has a policy, cloned from an expert in one grid. Episodes of the scene have other starts in this grid;
    shifted episodes have other grids, one each.

    Figures:
        PLACE/ARM           share of solved episodes, mean over scenes; PLACE is in (the grid of the demonstrations) or
                            shifted. ARM is base; guided (advisor and monitor); first (the advisor's first guidance);
                            alone (guided with alpha 1); kept (shifted: the last guidance of the scene, without advisor
                            and monitor)
        gain/ARM, .../low, .../high     shifted: guided less that of the arm, with the 95 % interval over scenes
        gain/kept_base      shifted: kept less base, likewise
        loss/in             in: base less guided
        zero/same           share of shifted episodes in which alpha 0 has the actions of the base policy alone
        revisions           of a guided shifted episode; unanswered: its requests without a guidance function, and
                            questions to the monitor without an answer
        failed              steps of guided shifted episodes in which the guidance function failed
        moved               mean total variation distance of mixture and base policy in guided shifted episodes

    Args:
        scenes: grids with a policy each.
        episodes: of a scene, and as many shifted ones.
        alpha: weight of the guidance.
        form: of the mixture.
        size: side of the grids.
        limit: most actions of an episode.
        advisor: who writes guidance functions: rule, a model, http://HOST/v1#NAME or MODULE:ATTRIBUTE of your own.
        monitor: who detects failures, likewise.
    """
    if scenes < 2 or episodes < 1 or limit < 1:
        raise InputError(f"give 2 scenes, an episode and an action or more, not {scenes}, {episodes} and {limit}")
    advising, watching = study_desk(advisor, option="--advisor"), study_desk(monitor, option="--monitor")
    advise = rule_advisor if advising is None else asked_advisor(advising)
    watch = rule_monitor() if watching is None else asked_monitor(watching)
    arms = {"base": _Arm(0.0, False), "first": _Arm(alpha, False), "guided": _Arm(alpha, True)}
    arms["alone"] = _Arm(1.0, True)

    def play(
        policy: ClonedPolicy, grid: int, number: int, seed: int, arm: _Arm, kept: str | None = None
    ) -> GuidedEpisode:
        game = GridGame("doorkey", size, grid, brief=False)
        random_moves(game, number % 8, random.Random(f"start {seed} {grid} {number}"))
        roles = GuidanceRoles(advise if kept is None else _silent, watch if arm.monitored else None)
        rng = generator("grappa", seed, grid, number)
        return guided_episode(game, policy, roles, rng=rng, alpha=arm.alpha, form=form, limit=limit, program=kept or "")

    def scene(grid: int, seed: int) -> dict[str, float]:
        policy = clone_expert(grid, size=size, seed=seed)
        own = {name: [play(policy, grid, k, seed, arm) for k in range(episodes)] for name, arm in arms.items()}
        shifted = [SHIFT + grid * episodes + k for k in range(episodes)]
        far = {name: [play(policy, g, k, seed, arm) for k, g in enumerate(shifted)] for name, arm in arms.items()}
        kept = own["guided"][-1].program
        far["kept"] = [play(policy, g, k, seed, arms["first"], kept) for k, g in enumerate(shifted)]
        alone = [_unguided(policy, g, k, seed, size, limit) for k, g in enumerate(shifted)]
        row = {f"in/{name}": _share(found) for name, found in own.items()}
        row |= {f"shifted/{name}": _share(found) for name, found in far.items()}
        row["zero/same"] = float(np.mean([one.words == two for one, two in zip(far["base"], alone, strict=True)]))
        return row | _means(far["guided"])

    def measure(seed: int) -> dict[str, float]:
        return _figures([scene(grid, seed) for grid in range(seed, seed + scenes)])

    return measure


def _unguided(policy: ClonedPolicy, grid: int, number: int, seed: int, size: int, limit: int) -> tuple[str, ...]:
    """Actions of the base policy without agents, with the draws of `play`."""
    game = GridGame("doorkey", size, grid, brief=False)
    random_moves(game, number % 8, random.Random(f"start {seed} {grid} {number}"))
    rng = generator("grappa", seed, grid, number)
    return guided_episode(game, policy, GuidanceRoles(_silent), rng=rng, alpha=0.0, limit=limit).words


def _silent(brief: GuidanceBrief) -> str:
    del brief
    return ""


def _share(episodes: list[GuidedEpisode]) -> float:
    return float(np.mean([one.solved for one in episodes]))


def _means(episodes: list[GuidedEpisode]) -> dict[str, float]:
    return {name: float(np.mean([getattr(one, name) for one in episodes])) for name in COUNTS}


COUNTS = ("revisions", "unanswered", "failed", "moved")


def _figures(rows: list[Mapping[str, float]]) -> dict[str, float]:
    found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    figures = {name: float(value_S.mean()) for name, value_S in found.items()}
    for arm in ("base", "first", "alone"):
        figures |= interval_figures(f"gain/{arm}", found["shifted/guided"] - found[f"shifted/{arm}"])
    figures |= interval_figures("gain/kept_base", found["shifted/kept"] - found["shifted/base"])
    figures["loss/in"] = figures["in/base"] - figures["in/guided"]
    return figures
