"""ARTIST (arXiv:2505.01441), function calling: reward the final state, the reference calls and the format."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.artist.call_match import call_match
from handaxe.worlds.bfcl.world import equal_state, full_state, turn_calls

__all__ = ["artist_bfcl"]


def artist_bfcl(
    base: Method, *, state_weight: float = 0.5, function_weight: float = 0.5, format_weight: float = 0.5
) -> Method:
    """Replace the base's binary reward by partial credit at the end of a conversation.

    Args:
        state_weight: SR_max, reward of the reference state. 0.5 is unconfirmed.
        function_weight: FR_max, reward of all reference calls, each in its user turn. 0.5 is unconfirmed.
        format_weight: reward of a well-formed rollout. 0.5 is unconfirmed.

    Example:
        reference state, every reference call in its turn, well-formed  ->  0.5 + 0.5 + 0.5 = 1.5

    Paper: arXiv:2505.01441 (ARTIST), R_state, R_function and the format reward of function calling.
    """
    states = rewards.state_match(max_score=state_weight, gold=full_state, state=equal_state)
    calls = call_match(most=function_weight, by_turn=turn_calls)
    parts = {
        "state": (1.0, states),
        "function": (1.0, calls),
        "format": (format_weight, rewards.well_formed()),
        "partial_state": (0.0, rewards.partial(reward=states, most=state_weight or 1.0)),
        "partial_function": (0.0, rewards.partial(reward=calls, most=function_weight or 1.0)),
    }
    return replace(base, reward=rewards.weighted(parts))
