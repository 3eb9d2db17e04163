"""Every maker of pairs keeps its contract. A file in handaxe/pairs is found here without being named anywhere; one that
has no row in the table must keep it with default arguments."""

from pathlib import Path

import pytest

import handaxe.pairs
from handaxe.testing.pairs import check_pairs

NAMES = sorted(p.stem for p in Path(handaxe.pairs.__path__[0]).glob("*.py") if p.stem != "__init__")
VARIANTS = {"best_against_worst": [{}, {"gap": 0.5}]}
CASES = [(name, arguments) for name in NAMES for arguments in VARIANTS.get(name, [{}])]


@pytest.mark.parametrize("name, arguments", CASES, ids=str)
def test_pairs(name, arguments):
    check_pairs(getattr(handaxe.pairs, name)(**arguments))


def test_the_table_names_only_what_exists():
    assert set(VARIANTS) <= set(NAMES)
