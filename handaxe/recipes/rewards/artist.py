"""ARTIST: answer, format and successful execution, added up."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.tool_success import tool_success
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["artist"]

TITLE = "Agentic Reasoning and Tool Integration for LLMs via Reinforcement Learning"
RECIPE = Recipe(
    paper=Paper(TITLE, "ARTIST", "2505.01441", 69),
    claims=(Claim("More right answers a call than at the start.", "tool_productivity", "up", baseline="start"),),
    setting=Setting(tools=("python",)),
)


def artist(base: Method, *, answer_weight: float = 2.0, format_weight: float = 0.5) -> Method:
    """Train on a composite reward; executions that succeed give up to 1.

    Args:
        answer_weight: of the base's reward; 2 is unconfirmed.
        format_weight: of a well-formed attempt; 0.5 is unconfirmed.
    """
    parts = {"answer": (answer_weight, base.reward), "format": (format_weight, well_formed())}
    return replace(base, reward=weighted({**parts, "execution": (1.0, tool_success())}))
