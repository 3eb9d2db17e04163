"""BN-GSPO (arXiv:2512.24330): standardise GSPO's group-normalised advantages again over the batch."""

from handaxe import advantages
from handaxe.methods.method import Method, replace

__all__ = ["bn_gspo"]


def bn_gspo(base: Method) -> Method:
    """Divide group-normalised rewards by the batch's standard deviation, which groups of equal rewards lower."""
    return replace(base, transform=advantages.batch_norm(of="standardised"))
