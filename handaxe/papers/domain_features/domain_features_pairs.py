"""Study: reward models of features and of text, from few preference pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from handaxe import judges
from handaxe.core.protocols import Engine, Judge, Labelled
from handaxe.core.records import Pair
from handaxe.evaluation.policy_rollouts import HELD_OUT, policy_rollouts
from handaxe.evaluation.preference_model import preference_model
from handaxe.evaluation.rank_figures import judge_figures
from handaxe.judges.labelled_groups import with_zero_credit
from handaxe.methods.method import StudyFunction
from handaxe.ops.seeds import generator
from handaxe.ops.stats import column_figures
from handaxe.papers.domain_features.trace_features import TRACE_FEATURES, trace_features
from handaxe.selection.pairs.ordered import ordered
from handaxe.worlds.arithmetic import arithmetic

__all__ = ["domain_features_pairs"]


def domain_features_pairs(
    *,
    seeds: int = 6,
    sizes: tuple[int, ...] = (8, 24, 72),
    tasks: int = 30,
    samples: int = 6,
    held_out: int = 32,
    presented: int = 240,
    learning_rate: float = 1e-3,
) -> StudyFunction:
    """Fit reward models on equal pairs of rollouts of the packaged policy in `arithmetic`, and rank held-out rollouts.

    Figures, means over seeds; /low and /high are the ends of a 95 % interval:
        pair/MODEL/N   share of held-out pairs of a correct and a wrong answer in the order of the scores, after N pairs
        best/MODEL/N   share of tasks with a correct answer of the greatest score;  best/random of a random one
        gain/MODEL/N   pair of features less that of the model
        fewer          pair of features after the least pairs, less that of text after the most

    Models: features (a network of seven features), linear (without a hidden layer), text (a copy of the policy with a
    linear head).

    Args:
        seeds: draws of training and held-out tasks, from the study's seed on.
        sizes: N, numbers of pairs; smaller sets are parts of larger ones.
        tasks: training tasks of a seed.
        samples: rollouts of a task.
        held_out: tasks of a seed that measure.
        presented: pairs that a fit of the model of text presents, in whole passes, at least one.
        learning_rate: of the model of text.

    Example:
        pair 0.95 of features and 0.7 of text after 8 pairs  ->  gain/text/8 0.25

    Paper: arXiv:2402.15473, reward models from few human preferences.
    Differs: preferences are by the correctness of answers; a choice among rollouts replaces the trained summarizer.
    """

    def measure(seed: int) -> dict[str, float]:
        play = policy_rollouts(arithmetic())
        columns: dict[str, list[float]] = {}
        for number in range(seed, seed + seeds):
            pairs = _pairs(play("train", tasks=tasks, samples=samples, seed=number), number)
            tested = play("test", tasks=held_out, samples=samples, seed=HELD_OUT + number)
            for size in sizes:
                for name, model in _models(play.engine, pairs[:size], presented, learning_rate, number):
                    ranked = judge_figures(model, tested)
                    columns.setdefault(f"pair/{name}/{size}", []).append(ranked.pair)
                    columns.setdefault(f"best/{name}/{size}", []).append(ranked.best)
            columns.setdefault("best/random", []).append(ranked.random)
            columns.setdefault("pairs", []).append(float(len(pairs)))
        return column_figures(columns, _gains(sizes))

    return measure


def _pairs(given: Sequence[Labelled], seed: int) -> list[Pair]:
    """Pairs of all tasks, in random order."""
    found = ordered()(with_zero_credit(given))
    return [found[k] for k in generator("domain pairs", seed).permutation(len(found))]


def _models(
    engine: Engine, pairs: Sequence[Pair], presented: int, learning_rate: float, seed: int
) -> Iterator[tuple[str, Judge]]:
    given = list(pairs)
    for name, hidden in (("features", 16), ("linear", 0)):
        net = judges.feature_net(
            features=trace_features(), size=len(TRACE_FEATURES), pairs=lambda rated: given, hidden=hidden, seed=seed
        )
        net.fit([])
        yield name, net
    yield "text", preference_model(engine, given, presented=presented, learning_rate=learning_rate)


def _gains(sizes: Sequence[int]) -> dict[str, tuple[str, str]]:
    gains = {
        f"gain/{name}/{size}": (f"pair/features/{size}", f"pair/{name}/{size}")
        for size in sizes
        for name in ("linear", "text")
    }
    return gains | {"fewer": (f"pair/features/{min(sizes)}", f"pair/text/{max(sizes)}")}
