"""BN-GSPO: advantages standardised within the group, and then by the spread of the batch."""

from handaxe.advantages.batch_norm import batch_norm
from handaxe.methods.method import Method, replace

__all__ = ["bn_gspo"]


def bn_gspo(base: Method) -> Method:
    """Divide standardised rewards by their spread over the batch, which groups of equal rewards make small."""
    return replace(base, shape=batch_norm(of="standardised"))
