"""Reasoning-SQL (arXiv:2503.23157): add partial rewards for queries that resemble the reference query."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.reasoning_sql.tables import bigram_overlap, schema_overlap
from handaxe.papers.reasoning_sql.tags_in_order import tags_in_order
from handaxe.rewards.select_channel import select_channel

__all__ = ["reasoning_sql"]


def reasoning_sql(base: Method, *, rows_weight: float = 3.0, partial_weight: float = 1.0) -> Method:
    """Reward the result rows, and four partial measures of the query.

    Args:
        rows_weight: weight of the correct rows; 3 in the paper. Unconfirmed.
        partial_weight: weight of each of execution, schema items, token bigrams and tags; 1 in the paper. Unconfirmed.
    """
    executes = select_channel(base.world.correct, "executes")
    parts = {"rows": (rows_weight, base.reward), "executes": (partial_weight, executes)}
    parts |= {"items": (partial_weight, schema_overlap()), "bigrams": (partial_weight, bigram_overlap())}
    tags = tags_in_order(tags=("sql",))
    return replace(base, reward=rewards.weighted({**parts, "format": (partial_weight, tags)}))
