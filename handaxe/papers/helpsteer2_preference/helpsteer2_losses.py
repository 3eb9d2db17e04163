"""Study: reward models from ratings, from preferences, and from both, on the same rollouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handaxe.core.protocols import Engine, Judge, Labelled, Pairs
from handaxe.core.records import Scores
from handaxe.evaluation.policy_rollouts import HELD_OUT, policy_rollouts
from handaxe.evaluation.rank_figures import rank_figures
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import column_figures
from handaxe.papers.helpsteer2_preference.annotations import QUALITY, preferences, quality, ratings
from handaxe.papers.helpsteer2_preference.staged_reward_model import Preference, staged_reward_model
from handaxe.worlds.arithmetic import arithmetic

__all__ = ["helpsteer2_losses"]

LOSSES: tuple[Preference, ...] = ("plain", "margin", "scaled")
STAGED = ("regression", "combined", "extrapolated")
"""Models of `staged_reward_model` with ratings: after the first stage, after the second, and beyond."""
GAINS = (
    ("scaled", "plain"),
    ("scaled", "margin"),
    ("combined", "regression"),
    ("combined", "scaled"),
    ("extrapolated", "combined"),
)


def helpsteer2_losses(
    *,
    seeds: int = 6,
    tasks: int = 20,
    samples: int = 6,
    held_out: int = 32,
    most: int = 6,
    noise: float = 1.0,
    epochs: int = 2,
    factor: float = 1.5,
) -> StudyFunction:
    """Fit reward models on rollouts of the packaged policy in `arithmetic`, and rank held-out rollouts.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        pair/MODEL     share of held-out pairs of unequal quality in the order of the scores
        best/MODEL     quality of the best of `samples` rollouts by the score;  best/random of a random one
        gain/A/B       pair of A less that of B, over equal seeds

    Models: regression (ratings), plain, margin and scaled (Bradley-Terry), combined (scaled from the weights of
    regression), extrapolated (combined, with weights beyond).

    Args:
        seeds: draws of training tasks, rollouts and annotations, from the study's seed on.
        tasks: training tasks of a seed.
        samples: rollouts of a task.
        held_out: tasks of a seed that measure.
        most: preferences of a task at most.
        noise: standard deviation of the annotators' errors in ratings; half of it in preferences.
        epochs: passes of a fit that starts from the policy's weights.
        factor: of the extrapolation.

    Example:
        pair 0.9 of scaled and 0.88 of plain  ->  gain/scaled/plain 0.02

    Paper: arXiv:2410.01257 (HelpSteer2-Preference), head-to-head comparison with matched data, and combination.
    Differs: rollouts of a tool-using policy, annotators that err at random.
    """

    def measure(seed: int) -> dict[str, float]:
        play = policy_rollouts(arithmetic())
        columns: dict[str, list[float]] = {}
        for number in range(seed, seed + seeds):
            given = [_annotated(one, noise, number) for one in play("train", tasks=tasks, samples=samples, seed=number)]
            tested = play("test", tasks=held_out, samples=samples, seed=HELD_OUT + number)
            truth = [quality(group, scores.outcome) for group, scores in tested]
            pairs = preferences(noise=noise, seed=number, most=most)
            for name, model in _models(play.engine, given, pairs, epochs=epochs, factor=factor):
                ranked = rank_figures([model.score(group) for group, _ in tested], truth)
                columns.setdefault(f"pair/{name}", []).append(ranked.pair)
                columns.setdefault(f"best/{name}", []).append(ranked.best)
            columns.setdefault("best/random", []).append(ranked.random)
        return column_figures(columns, {f"gain/{a}/{b}": (f"pair/{a}", f"pair/{b}") for a, b in GAINS})

    return measure


def _models(
    engine: Engine, given: Sequence[Labelled], pairs: Pairs, *, epochs: int, factor: float
) -> Iterator[tuple[str, Judge]]:
    """Each model by name, fitted; the last two are one object, valid until the next is taken."""
    for loss in LOSSES:
        model = staged_reward_model(pairs=pairs, preference=loss, ratings=False, epochs=epochs)
        model.begin(engine)
        model.fit(given)
        yield loss, model
    model = staged_reward_model(pairs=pairs, factor=1.0, epochs=epochs)
    model.begin(engine)
    model.fit(given)
    assert model.rating is not None
    yield "regression", model.rating
    yield "combined", model
    model.extrapolate(factor)
    yield "extrapolated", model


def _annotated(one: Labelled, noise: float, seed: int) -> Labelled:
    group, scores = one
    quality_G = quality(group, scores.outcome)
    return group, Scores(ratings(group, quality_G, noise=noise, seed=seed), channels={QUALITY: quality_G})
