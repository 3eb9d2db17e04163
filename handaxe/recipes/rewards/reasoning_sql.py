"""Reasoning-SQL: a wrong query is worth something for what it has in common with the right one."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.picked import picked
from handaxe.rewards.tags_in_order import tags_in_order
from handaxe.rewards.weighted import weighted
from handaxe.worlds.tables import same_bigrams, same_items, tables

__all__ = ["reasoning_sql"]

TITLE = "Reasoning-SQL: Reinforcement Learning with SQL Tailored Partial Rewards for Reasoning-Enhanced Text-to-SQL"
NOTE = "The weights are unconfirmed."
RECIPE = Recipe(
    paper=Paper(TITLE, "Reasoning-SQL", "2503.23157", 110),
    claims=(Claim("More right queries than by their rows alone.", "pass@1", "up", vice=0.7, note=NOTE),),
    world=tables,
    setting=Setting(model="start", max_turns=1, max_tokens=96),
)


def reasoning_sql(base: Method, *, rows: float = 3.0, partial: float = 1.0) -> Method:
    """Train on the base's reward of rows, and on four partial rewards.

    Args:
        rows: weight of the right rows; 3 is unconfirmed.
        partial: weight of each of the others, that it executes, tables and columns, pairs of tokens, tags; unconfirmed.

    Differs: without the judge of wrong queries (weight 2), by which a wrong one can be worth more than a right one;
    the format is <sql> alone, without tags around the reasoning.
    """
    parts = {"rows": (rows, base.reward), "executes": (partial, picked(base.world.correct, "executes"))}
    parts |= {"items": (partial, same_items()), "bigrams": (partial, same_bigrams())}
    return replace(base, reward=weighted({**parts, "format": (partial, tags_in_order(tags=("sql",)))}))
