"""An untrained policy of pieces with grouped queries, for tests of everything that reads ids."""

from functools import cache

from handaxe.models.chat_formats.pieces import Pieces, learn_pieces
from handaxe.models.load import Policy
from handaxe.models.tiny import TinyConfig, TinyModel

TEXTS = [
    "calculator(expression) calculator 12*34 What is the sum of these two numbers? Compute the product, please.",
    "The door is locked. Look at the red key, take the key and unlock the door with the key.",
] * 4


@cache
def vocabulary() -> str:
    """Return the vocabulary file of 320 ids or fewer."""
    return learn_pieces(TEXTS, size=320)


def piece_policy(*, seed: int = 0, max_length: int = 512) -> Policy:
    """Make the policy from random weights."""
    format = Pieces(vocabulary())
    config = TinyConfig(format.vocab_size, width=32, layers=2, heads=4, max_length=max_length, kv_heads=2)
    model = TinyModel.new(config, seed=seed)
    model.pieces = format.vocabulary
    return Policy(model, format)
