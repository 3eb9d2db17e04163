"""DeepSport: the use of tools is paid for by how right the answer is, and a little where it is wrong."""

from handaxe.methods.method import Method, replace
from handaxe.papers.deepsport.no_repeats import no_repeats
from handaxe.papers.deepsport.tool_use_bonus import tool_use_bonus
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.product import product
from handaxe.rewards.well_formed import well_formed

__all__ = ["deepsport"]


def deepsport(base: Method, *, share: float = 0.5, curiosity: float = 0.03, broken: float = -0.05) -> Method:
    """Train on the answer with gated pay for tools, where the format is kept and no call is repeated (a row, no video).

    Args:
        share: of the answer's score, paid once more where tools were used and it is right.
        curiosity: for tools that were used where it is wrong.
        broken: what a malformed attempt earns, or one that makes a call again.
    """
    kept = product({"format": well_formed(), "fresh": no_repeats()})
    paid = tool_use_bonus(base=base.reward, share=share, curiosity=curiosity)
    return replace(base, reward=ladder([Rung("kept", kept, weight=0.0, failed=broken), Rung("paid", paid)]))
