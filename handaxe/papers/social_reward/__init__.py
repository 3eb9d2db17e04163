"""Social Reward (paper 85): a reward model of pictures from the re-use by a community."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np

from handaxe.evaluation.policy_rollouts import HELD_OUT
from handaxe.evaluation.rank_figures import rank_figures
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import generator
from handaxe.ops.stats import column_figures
from handaxe.papers.social_reward.community import repeated_share, visit_pictures
from handaxe.papers.social_reward.implicit_pairs import SIGNALS, Signal, implicit_pairs
from handaxe.papers.social_reward.prompted_pictures import prompted_pictures, triplets, worth_agreement
from handaxe.papers.social_reward.two_towers import TwoTowers
from handaxe.worlds.canvas.drawing import COLOURS

__all__ = ["social_reward"]

MODELS: Mapping[str, tuple[Signal, bool]] = {
    "rates": ("rates", True),
    "counts": ("counts", True),
    "no_prompt": ("rates", False),
}
"""Model -> signal of the pairs, and whether the prompt is read."""
GAINS = {
    "gain/rates/counts": ("pair/rates", "pair/counts"),
    "gain/rates/no_prompt": ("pair/rates", "pair/no_prompt"),
    "best_gain": ("best/rates", "best/random"),
}


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
            given = prompted_pictures(prompts, pictures=pictures, seed=number)
            tested = prompted_pictures(held_out, pictures=pictures, seed=number + HELD_OUT)
            rng = generator("social_reward", number)
            events = [
                visit_pictures(one.worth_P, members=members, shown=shown, rng=rng, popularity=popularity, habit=habit)
                for one in given
            ]
            columns.setdefault("repeated", []).append(repeated_share(chain(*events)))
            for name, (signal, prompt) in MODELS.items():
                pairs = [implicit_pairs(SIGNALS[signal](own, pictures)) for own in events]
                columns.setdefault(f"signal/{name}", []).append(worth_agreement(given, pairs))
                model = TwoTowers(given[0].picture_PF.shape[1], len(COLOURS), prompt=prompt, seed=number)
                model.fit(*triplets(given, pairs), steps=steps)
                scores = [model.scores(np.tile(one.text_R, (pictures, 1)), one.picture_PF) for one in tested]
                ranked = rank_figures(scores, [one.worth_P for one in tested])
                columns.setdefault(f"pair/{name}", []).append(ranked.pair)
                columns.setdefault(f"best/{name}", []).append(ranked.best)
            columns.setdefault("best/random", []).append(ranked.random)
        return column_figures(columns, GAINS)

    return measure
