"""PRS: a reward that goes up in steps, each of which counts only where those before it were taken."""

from handaxe.methods.method import Method, replace
from handaxe.rewards.bleu import bleu
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.well_formed import well_formed

__all__ = ["prs"]


def prs(base: Method, *, formed: float = 0.1, ran: float = 0.1, quality: float = 0.8) -> Method:
    """Train on calls that can be read, then calls that work, then words of the answer.

    A right answer to which no call that worked has led earns less than a wrong one after such a call: by the paper's
    rule, later steps do not count without the earlier ones.

    Args:
        formed: of an attempt whose calls can all be read; else it earns -1.
        ran: of one in which a call worked.
        quality: of BLEU with the answer, whose order the reference's length limits.
    """
    rungs = [Rung("parsed", well_formed(), formed, failed=-1.0), Rung("executed", used_tools(), ran)]
    return replace(base, reward=ladder([*rungs, Rung("quality", bleu(smooth=False, limit=True), quality)]))
