from .entropy import entropy as entropy
from .kl import kl as kl
from .value import value as value
