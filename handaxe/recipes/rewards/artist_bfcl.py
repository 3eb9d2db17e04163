"""ARTIST's function calling: the share of the state, the share of the calls of each user's turn, and the format."""

from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.rewards.call_match import call_match
from handaxe.rewards.state_match import state_match
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.bfcl import bfcl, calls_by_turn, equal_state, whole_state

__all__ = ["artist_bfcl"]

TITLE = "Agentic Reasoning and Tool Integration for LLMs via Reinforcement Learning"
NOTE = "The weights are unconfirmed."
RECIPE = Recipe(
    paper=Paper(TITLE, "ARTIST, function calling", "2505.01441", 69),
    claims=(
        Claim("More conversations end right than with the end alone rewarded.", "pass@1", "up", note=NOTE),
        Claim("More of the user's turns come out right.", "progress", "up", note=NOTE),
    ),
    world=partial(bfcl, category=("short",)),
    setting=Setting(model="start", max_turns=6),
)


def artist_bfcl(base: Method, *, state: float = 0.5, function: float = 0.5, format_weight: float = 0.5) -> Method:
    """Train on partial credit at the end of a conversation; what is right is the base's reward, which is left out.

    Args:
        state: reward of a state that is all as wanted; 0.5 is unconfirmed.
        function: reward of all the calls wanted, each in its turn of the user's; 0.5 is unconfirmed.
        format_weight: of a well-formed attempt; 0.5 is unconfirmed.

    Differs: the category "short", conversations made for a small context, in the place of the leaderboard's own. Its
    state is one thing, the files, which are all as wanted or not, and half of its tasks want one call, so that there is
    less partial credit to give than in the paper.
    """
    states = state_match(most=state, gold=whole_state, state=equal_state)
    calls = call_match(most=function, by_turn=calls_by_turn)
    parts = {"state": (1.0, states), "function": (1.0, calls), "format": (format_weight, well_formed())}
    return replace(base, reward=weighted(parts))
