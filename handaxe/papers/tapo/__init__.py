"""TAPO (arXiv:2510.07038): DAPO over tool rollouts, with a verifier per kind of question and no reward for calls."""

from handaxe import losses, rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.tapo.edit_similarity import edit_similarity, in_digits
from handaxe.papers.tapo.tag_grammar import tag_grammar
from handaxe.rewards.dispatch import dispatch
from handaxe.rewards.ladder import Rung
from handaxe.rewards.parts.extract import answer_blocks

__all__ = ["tapo"]


def tapo(base: Method, *, call_bonus: float = 0.0) -> Method:
    """Verify answers by the kind of question; a malformed rollout earns -1.

    Args:
        call_bonus: reward of each turn with a call, the comparison; 0 in the paper.
    """
    numbers = {"easy": rewards.exact_match(normalise=in_digits), "hard": rewards.numeric_match(abs_tol=1e-3)}
    blocks = tag_grammar(grammar="tool_call* answer", text=answer_blocks)
    forms = [Rung("ended", rewards.well_formed(), 0.0, failed=-1.0), Rung("format", blocks, 0.0, failed=-1.0)]
    answer = Rung("answer", dispatch(key="kind", rewards={**numbers, "fact": edit_similarity()}))
    parts = {
        "correct": (1.0, rewards.ladder([*forms, answer])),
        "calls": (call_bonus, rewards.annealed_calls(scale=1.0, per_turn=1.0, cap=3.0)),
        "overlong": (1.0, rewards.overlong(limit=96, cache=32)),
    }
    clip = losses.surrogates.dual_clip(eps_high=0.28, cap=10.0)
    return replace(base, reward=rewards.weighted(parts), surrogate=clip)
