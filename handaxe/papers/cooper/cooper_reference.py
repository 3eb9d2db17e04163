"""Cooper (arXiv:2508.05613) with VerifyRM: the reward model that trains with the policy reads the reference answer."""

from handaxe.methods.method import Method
from handaxe.papers.cooper import cooper

__all__ = ["cooper_reference"]


def cooper_reference(base: Method, *, fit_groups: int = 24, fit_epochs: int = 8) -> Method:
    """Train policy and reward model together; the reward model reads question, reference and final answer.

    Args:
        fit_groups: groups of the first policy on which the reward model is fitted.
        fit_epochs: passes over their pairs; an update during training is one pass.

    Example:
        question "6 * 7", reference "42", answer "41"  ->  the reward model reads "6 * 7\\n42\\n41"

    Paper: arXiv:2508.05613 (Cooper), VerifyRM in the training of the policy.
    """
    return cooper(base, reads_reference=True, fit_groups=fit_groups, fit_epochs=fit_epochs)
