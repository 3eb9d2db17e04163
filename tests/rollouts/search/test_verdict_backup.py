import itertools

import pytest

from handaxe.core.errors import InputError
from handaxe.rollouts.search.verdict_backup import verdict_backup


def test_verdict_backup_matches_the_docstring_example():
    assert verdict_backup()([1, -1], 1, 2) == pytest.approx([0.75, 0.675, 0.6075])
    assert verdict_backup()([], -1, 0) == [-1.0]


@pytest.mark.parametrize("decay", [0.0, 0.5, 0.9, 1.0])
def test_verdict_backup_equals_a_slow_loop(decay):
    for n in range(1, 4):
        for verdicts in itertools.product((-1, 0, 1), repeat=n):
            total = 0.0
            for i in range(n):
                total += verdicts[i] * (n - i) / n
            wanted, worth = [], (total + -1) / n
            for _ in range(3):
                wanted.append(worth)
                worth *= decay
            assert verdict_backup(decay=decay)(verdicts, -1, 2) == pytest.approx(wanted)


@pytest.mark.parametrize("decay", [-0.1, 1.1])
def test_arguments_out_of_range_are_errors(decay):
    with pytest.raises(InputError, match="decay from 0 to 1"):
        verdict_backup(decay=decay)
