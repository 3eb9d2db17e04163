"""Reasoning-SQL: a wrong query is worth something for what it has in common with the right one."""

from handaxe.methods.method import Method, replace
from handaxe.papers.reasoning_sql.tables import same_bigrams, same_items
from handaxe.papers.reasoning_sql.tags_in_order import tags_in_order
from handaxe.rewards.picked import picked
from handaxe.rewards.weighted import weighted

__all__ = ["reasoning_sql"]


def reasoning_sql(base: Method, *, rows: float = 3.0, partial: float = 1.0) -> Method:
    """Train on the base's reward of rows, and on four partial rewards.

    Args:
        rows: weight of the right rows; 3 is unconfirmed.
        partial: weight of each of the others, that it executes, tables and columns, pairs of tokens, tags; unconfirmed.
    """
    parts = {"rows": (rows, base.reward), "executes": (partial, picked(base.world.correct, "executes"))}
    parts |= {"items": (partial, same_items()), "bigrams": (partial, same_bigrams())}
    return replace(base, reward=weighted({**parts, "format": (partial, tags_in_order(tags=("sql",)))}))
