"""TAPO: DAPO over attempts with tools, each kind of question with a check of its own, and nothing paid for calls."""

from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.methods.method import Method, replace
from handaxe.papers.tapo.edit_similarity import edit_similarity, in_digits
from handaxe.papers.tapo.tag_grammar import tag_grammar
from handaxe.rewards.annealed_calls import annealed_calls
from handaxe.rewards.by_task import by_task
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.numeric_match import numeric_match
from handaxe.rewards.overlong import overlong
from handaxe.rewards.parts.extract import in_blocks
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["tapo"]


def tapo(base: Method, *, each: float = 0.0) -> Method:
    """Train with DAPO on a check by kind of question, and on -1 for what is malformed.

    Args:
        each: paid for a turn that calls, by which runs are compared; 0 in the paper.
    """
    checks = {"easy": exact_match(normalise=in_digits), "hard": numeric_match(abs_tol=1e-3), "fact": edit_similarity()}
    kinds, blocks = by_task(key="kind", rewards=checks), tag_grammar(grammar="tool_call* answer", text=in_blocks)
    formed = [Rung("ended", well_formed(), 0.0, failed=-1.0), Rung("format", blocks, 0.0, failed=-1.0)]
    calls, long = annealed_calls(scale=1.0, each=1.0, most=3.0), overlong(limit=96, cache=32)
    checked = ladder([*formed, Rung("answer", kinds)])
    reward = weighted({"correct": (1.0, checked), "calls": (each, calls), "overlong": (1.0, long)})
    return replace(base, reward=reward, surrogate=dual_clip(eps_high=0.28, cap=10.0))
