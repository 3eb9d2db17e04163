"""Training of the learned score on the published charts of other tables."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from handaxe.papers.hai_chart.chart_data import chart_data
from handaxe.papers.hai_chart.chart_features import chart_features
from handaxe.papers.hai_chart.chart_query import CLAUSES, NONE, Query, complete_queries, next_values, view_of
from handaxe.papers.hai_chart.chart_rules import rule_score
from handaxe.papers.hai_chart.chart_tables import ChartTable, GalleryChart
from handaxe.papers.hai_chart.rank_score import fit_ranking

__all__ = ["published_pairs", "published_query", "train_scores"]


def published_query(table: ChartTable, view: GalleryChart) -> Query:
    """Complete a view without sort and filter, by the bin that keeps the most rules; the first of equal ones."""
    variants = [one for one in complete_queries(table, tuple(view)) if one[5:] == (NONE, NONE)]
    return max(variants, key=lambda one: rule_score(table, one, chart_data(table, one)))


def published_pairs(table: ChartTable, *, others: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Compute the features of the published charts of a table [P, F], and of random other charts [Q, F].

    Args:
        table: with a gallery.
        others: random charts; charts of a published view are left out.
        seed: of the random charts.
    """
    good = [published_query(table, one) for one in table.gallery]
    rng = random.Random(f"{seed} {table.name}")
    drawn = [_random_query(table, rng) for _ in range(others)]
    bad = [one for one in drawn if len(one) == len(CLAUSES) and view_of(one) not in table.gallery]
    return _features(table, good), _features(table, bad)


def train_scores(tables: Sequence[ChartTable], *, others: int = 200, seed: int = 0) -> dict[str, np.ndarray]:
    """Fit the weights of the learned score for each table, on the galleries of all other tables.

    Returns:
        Name of a table -> weights [F] for `learned_score`.

    Example:
        galleries of cars, movies and stocks  ->  the weights of cars are fitted on movies and stocks alone

    Idea: a score that was fitted on a table's own charts would know the answers of its simulated user.
    """
    pairs = {one.name: published_pairs(one, others=others, seed=seed) for one in tables if one.gallery}
    return {held.name: fit_ranking([own for name, own in pairs.items() if name != held.name]) for held in tables}


def _features(table: ChartTable, queries: Sequence[Query]) -> np.ndarray:
    return np.stack([chart_features(table, one, chart_data(table, one)) for one in queries])


def _random_query(table: ChartTable, rng: random.Random) -> Query:
    query: Query = ()
    while values := next_values(table, query):
        query = (*query, rng.choice(values))
    return query
