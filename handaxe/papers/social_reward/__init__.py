"""Social Reward (paper 85): a reward model of pictures from the re-use by a community."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from handaxe.evaluation.rank_figures import rank_figures
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import generator
from handaxe.ops.stats import interval_figures
from handaxe.papers.social_reward.community import Visit, visit_pictures
from handaxe.papers.social_reward.implicit_pairs import SIGNALS, Signal, edit_counts, implicit_pairs
from handaxe.papers.social_reward.two_towers import TwoTowers
from handaxe.worlds.canvas.drawing import COLOURS
from handaxe.worlds.canvas.edit_features import palette_shares
from handaxe.worlds.canvas.edits import edit_drawing, edit_requests

__all__ = ["social_reward"]

MODELS: Mapping[str, tuple[Signal, bool]] = {
    "rates": ("rates", True),
    "counts": ("counts", True),
    "no_prompt": ("rates", False),
}
"""Model -> signal of the pairs, and whether the prompt is read."""
GAINS = (("rates", "counts"), ("rates", "no_prompt"))
FIT = 0.6
"""Weight of the requested colour in the worth of a picture; the rest is cleanness."""
HELD_OUT = 1_000_000
"""Added to the seed of held-out prompts."""


class _Prompt(NamedTuple):
    """A prompt: features, features of its pictures, and their worth to the community."""

    text_R: np.ndarray
    picture_PF: np.ndarray
    worth_P: np.ndarray


def social_reward(
    *,
    seeds: int = 6,
    prompts: int = 60,
    pictures: int = 6,
    held_out: int = 60,
    members: int = 40,
    shown: int = 3,
    popularity: float = 1.0,
    habit: float = 0.1,
    steps: int = 200,
) -> StudyFunction:
    """Fit rewards of pictures on pairs from re-use, and rank the pictures of held-out prompts by their true worth.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        pair/MODEL     share of held-out pairs of unequal worth in the order of the scores
        best/MODEL     worth of the picture with the highest score; best/random of a random one
        gain/A/B       pair of A less that of B, over equal seeds
        best_gain      best/rates less best/random
        signal/MODEL   share of training pairs in the order of the worth
        repeated       share of the edits by members who edit a picture again

    Models: rates (members who edited, by members who saw), counts (all edits), no_prompt (rates, without the prompt).

    Args:
        seeds: draws of prompts, events and weights, from the study's seed on.
        prompts: training prompts of a seed.
        pictures: pictures of a prompt.
        held_out: prompts that measure.
        members: visitors of a prompt's pictures.
        shown: pictures that a member sees.
        popularity, habit: of the community; see `visit_pictures`.
        steps: of AdamW.

    Example:
        pair 0.8 of rates and 0.7 of no_prompt  ->  gain/rates/no_prompt 0.1

    Paper: Social Reward (paper 85), a reward from creators' choices, against scores that know no prompt.
    Differs: drawings with a known worth, and a community that is drawn.
    """

    def measure(seed: int) -> dict[str, float]:
        columns = dict[str, list[float]]()
        for number in range(seed, seed + seeds):
            given, tested = _prompts(prompts, pictures, number), _prompts(held_out, pictures, number + HELD_OUT)
            rng = generator("social_reward", number)
            events = [
                visit_pictures(one.worth_P, members=members, shown=shown, rng=rng, popularity=popularity, habit=habit)
                for one in given
            ]
            columns.setdefault("repeated", []).append(_repeated(events))
            for name, (signal, prompt) in MODELS.items():
                pairs = [implicit_pairs(SIGNALS[signal](own, pictures)) for own in events]
                columns.setdefault(f"signal/{name}", []).append(_agreement(given, pairs))
                model = TwoTowers(given[0].picture_PF.shape[1], len(COLOURS), prompt=prompt, seed=number)
                model.fit(*_triplets(given, pairs), steps=steps)
                scores = [model.scores(np.tile(one.text_R, (pictures, 1)), one.picture_PF) for one in tested]
                ranked = rank_figures(scores, [one.worth_P for one in tested])
                columns.setdefault(f"pair/{name}", []).append(ranked.pair)
                columns.setdefault(f"best/{name}", []).append(ranked.best)
            columns.setdefault("best/random", []).append(ranked.random)
        return _summary(columns)

    return measure


def _prompts(count: int, pictures: int, seed: int) -> list[_Prompt]:
    """Prompts for an object of a colour; the place is not part of the prompt."""
    rng = generator("social_reward pictures", seed)
    found = list[_Prompt]()
    for request in edit_requests(count, seed=seed, kinds=("add",)):
        made = [edit_drawing(request, rng) for _ in range(pictures)]
        worth = [FIT * float(one.followed == 1) + (1 - FIT) * one.clean for one in made]
        shares = [palette_shares(one.image.pixels) for one in made]
        text = [float(request.colour == name) for name in COLOURS]
        found.append(_Prompt(np.array(text), np.array(shares), np.array(worth)))
    return found


def _triplets(
    given: Sequence[_Prompt], pairs: Sequence[Sequence[tuple[int, int]]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prompt, better and worse picture of all pairs."""
    rows = [(one, p, q) for one, own in zip(given, pairs, strict=True) for p, q in own]
    text = np.array([one.text_R for one, _, _ in rows])
    better = np.array([one.picture_PF[p] for one, p, _ in rows])
    return text, better, np.array([one.picture_PF[q] for one, _, q in rows])


def _agreement(given: Sequence[_Prompt], pairs: Sequence[Sequence[tuple[int, int]]]) -> float:
    """Share of pairs of unequal worth in the order of the worth."""
    gaps = [one.worth_P[p] - one.worth_P[q] for one, own in zip(given, pairs, strict=True) for p, q in own]
    return float(np.mean([gap > 0 for gap in gaps if gap]))


def _repeated(events: Sequence[Sequence[Visit]]) -> float:
    every = [one for own in events for one in own]
    return float(
        sum(one.edits for one in every if one.edits > 1) / edit_counts([e._replace(picture=0) for e in every], 1)[0]
    )


def _summary(columns: Mapping[str, Sequence[float]]) -> dict[str, float]:
    figures = dict[str, float]()
    for name, own in columns.items():
        figures |= interval_figures(name, own)
    for first, second in GAINS:
        difference = np.subtract(columns[f"pair/{first}"], columns[f"pair/{second}"])
        figures |= interval_figures(f"gain/{first}/{second}", difference)
    difference = np.subtract(columns["best/rates"], columns["best/random"])
    figures |= interval_figures("best_gain", difference)
    return dict(sorted(figures.items()))
