"""ARTIST's function calling: the share of the state, the share of the calls of each user's turn, and the format."""

from handaxe.methods.method import Method, replace
from handaxe.papers.artist.call_match import call_match
from handaxe.rewards.state_match import state_match
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed
from handaxe.worlds.bfcl.world import calls_by_turn, equal_state, whole_state

__all__ = ["artist_bfcl"]


def artist_bfcl(base: Method, *, state: float = 0.5, function: float = 0.5, format_weight: float = 0.5) -> Method:
    """Train on partial credit at the end of a conversation; what is right is the base's reward, which is left out.

    Args:
        state: reward of a state that is all as wanted; 0.5 is unconfirmed.
        function: reward of all the calls wanted, each in its turn of the user's; 0.5 is unconfirmed.
        format_weight: of a well-formed attempt; 0.5 is unconfirmed.
    """
    states = state_match(most=state, gold=whole_state, state=equal_state)
    calls = call_match(most=function, by_turn=calls_by_turn)
    parts = {"state": (1.0, states), "function": (1.0, calls), "format": (format_weight, well_formed())}
    return replace(base, reward=weighted(parts))
