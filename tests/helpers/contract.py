"""Contract tests find mechanisms by kind, in roles and papers, through `handaxe.evaluation.mechanisms`.

The test of a mechanism, tests/FOLDER/test_NAME.py, may set

    CONTRACT = [{}, {"gamma": 0.9}]      arguments that the contract is checked with; [{}] by default

and further constants that a contract test reads by name.
"""

import re

from handaxe.evaluation.mechanisms import factory, kinds, list_mechanisms, read_test_constant

__all__ = ["cases", "factory", "kinds", "label", "mechanisms", "own"]


def mechanisms(*kind):
    """Modules of mechanisms of the kinds, sorted."""
    return list_mechanisms(*kind)


def own(name, constant, default):
    """A constant of the mechanism's test."""
    return read_test_constant(name, constant, default)


def cases(names):
    """(name, arguments) of every contract check."""
    return [(name, arguments) for name in names for arguments in own(name, "CONTRACT", [{}])]


def label(value):
    """A name or arguments as part of a test id, equal in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
