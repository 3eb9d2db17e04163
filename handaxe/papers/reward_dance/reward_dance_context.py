"""Context scaling of RewardDance: a head, P("yes") alone, with a reference, and with reasons, on equal comparisons."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.images import Image
from handaxe.core.records import Task
from handaxe.evaluation.policy_rollouts import HELD_OUT
from handaxe.evaluation.rank_figures import rank_figures
from handaxe.judges.drawing_model import fit_drawing_model, message_scores
from handaxe.judges.drawing_pairs import drawing_message
from handaxe.judges.viewed import PreferredMessage
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import column_figures
from handaxe.papers.reward_dance.comparisons import ComparedDrawings, Context, comparisons, rough_drawings
from handaxe.papers.reward_dance.yes_judge import fit_yes_judge
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.canvas.canvas import SHOWN, canvas, wanted_clauses
from handaxe.worlds.canvas.drawing import Items, paint_items
from handaxe.worlds.canvas.request import fidelity

if TYPE_CHECKING:
    from handaxe.models.load import Policy

__all__ = ["reward_dance_context"]

CONTEXTS: tuple[Context, ...] = ("none", "reference", "chain")
GAINS = {
    "gain/reference": ("pair/reference", "pair/none"),
    "gain/chain": ("pair/chain", "pair/reference"),
    "gain/head": ("pair/reference", "pair/head"),
}


class _Set(NamedTuple):
    """A request, drawings to rank, and the reference."""

    task: Task
    drawings: list[Items]
    reference: Items

    @property
    def truths(self) -> np.ndarray:
        return np.array([fidelity(items, wanted_clauses(self.task)) for items in self.drawings])


Scorer = Callable[[_Set], np.ndarray]


def reward_dance_context(
    *,
    seeds: int = 3,
    labels: int = 960,
    epochs: int = 2,
    held_out: int = 60,
    drawings: int = 6,
    pool: int = 4,
    skill: int = 90,
) -> StudyFunction:
    """Teach judges of drawings on equal comparisons, with more and more context, and rank held-out drawings.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval; arms: head (sigmoid of a Bradley-Terry
    head), none (P("yes") of the candidate alone), reference, chain (reference, and the objects of both in words first):
        pair/ARM         share of pairs of unequal fidelity in the order of the rewards
        best/ARM         fidelity of the drawing with the greatest reward;  random of a random one
        spread/ARM       mean over requests of the standard deviation of the rewards within a request
        gain/reference   pair/reference less pair/none;  gain/chain: pair/chain less pair/reference
        gain/head        pair/reference less pair/head

    Args:
        seeds: from the study's seed on.
        labels: requests with a comparison each.
        epochs: passes over the comparisons, of every arm.
        held_out: requests with drawings to rank.
        drawings: of a request.
        pool: further drawings of a request, the best of which is the reference.
        skill: steps of exact demonstrations of `canvas`, whose policy every judge starts from.

    Example:
        pair 0.9 with a reference and 0.8 without  ->  gain/reference 0.1

    Paper: arXiv:2509.08826 (RewardDance), context scaling.
    Differs: drawings of programs; the best of the pool is chosen by the rule.
    """

    def measure(seed: int) -> dict[str, float]:
        world = canvas(changes=0.0, colours=2, shapes=2)
        policy = start_policy(replace(world, start=world.need("start")._replace(skill=skill)))
        columns = dict[str, list[float]]()
        for number in range(seed, seed + seeds):
            given = comparisons(world.tasks("train", labels, number), seed=number)
            tested = world.tasks("test", held_out, HELD_OUT + number)
            sets = [_ranked_set(task, drawings, pool, number) for task in tested]
            for arm, score in _scorers(given, policy, epochs, number).items():
                score_TG, truth_TG = [score(one) for one in sets], [one.truths for one in sets]
                ranked = rank_figures(score_TG, truth_TG)
                columns.setdefault(f"pair/{arm}", []).append(ranked.pair)
                columns.setdefault(f"best/{arm}", []).append(ranked.best)
                columns.setdefault(f"spread/{arm}", []).append(float(np.mean([own.std() for own in score_TG])))
            columns.setdefault("random", []).append(ranked.random)
        return column_figures(columns, GAINS)

    return measure


def _ranked_set(task: Task, drawings: int, pool: int, seed: int) -> _Set:
    made = rough_drawings(task, drawings + pool, random.Random(derive_seed("ranked set", seed, task.id)))
    best = max(made[drawings:], key=lambda items: fidelity(items, wanted_clauses(task)))
    return _Set(task, made[:drawings], best)


def _scorers(given: Sequence[ComparedDrawings], policy: Policy, epochs: int, seed: int) -> dict[str, Scorer]:
    """Arm -> rewards of a set; every arm learns from the same comparisons, the head from each pair once."""
    found = {"head": _by_head([one.pair for one in given[::2]], policy, epochs)}
    for context in CONTEXTS:
        found[context] = _by_yes(given, context, policy, epochs, seed)
    return found


def _by_head(pairs: Sequence[PreferredMessage], policy: Policy, epochs: int) -> Scorer:
    model = fit_drawing_model(pairs, policy=policy, epochs=epochs)

    def score(one: _Set) -> np.ndarray:
        messages = [drawing_message(one.task, items) for items in one.drawings]
        shown = [PreferredMessage(message, message) for message in messages]
        return np.asarray(1 / (1 + np.exp(-message_scores(model.judge, shown, model.format)[:, 0])))

    return score


def _by_yes(given: Sequence[ComparedDrawings], context: Context, policy: Policy, epochs: int, seed: int) -> Scorer:
    judge = fit_yes_judge(given, context=context, policy=policy, epochs=epochs, seed=seed)

    def score(one: _Set) -> np.ndarray:
        reference: Image = paint_items(one.reference, SHOWN)
        return judge.yes([(one.task, paint_items(items, SHOWN), reference) for items in one.drawings])

    return score
