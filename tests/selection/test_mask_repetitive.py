from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.selection.mask_repetitive import mask_repetitive
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = [{}, {"length": 1, "times": 2}]


def saying(*turns):
    one = make_trajectory(layouts=["UUt " + " tTt ".join("p" * len(turn) for turn in turns)])
    (sequence,) = one.sequences
    ids = sequence.ids.copy()
    ids[sequence.mask] = [ord(letter) for turn in turns for letter in turn]
    return replace(one, sequences=(replace(sequence, ids=ids),))


def trained(select, *attempts, given=None):
    group = make_group(trajectories=[saying(*turns) for turns in attempts])
    return select([make_rated(group=group, trained=given)])[0].trained.tolist()


def test_mask_repetitive_masks_a_repeated_run():
    assert trained(mask_repetitive(length=2, times=3), ["ababab"], ["abcab"]) == [False, True]


def test_runs_overlap_and_stop_at_the_end_of_a_turn():
    assert trained(mask_repetitive(length=2, times=3), ["aaaa"], ["aaa"], ["aba", "bab", "ab"]) == [False, True, True]


def test_mask_repetitive_equals_a_slow_count():
    rng = np.random.default_rng(0)
    for _ in range(40):
        text = "".join(rng.choice(list("abc"), 12))
        runs = [text[k : k + 3] for k in range(10)]
        worst = max(runs.count(run) for run in runs)
        assert trained(mask_repetitive(length=3, times=3), [text]) == [worst < 3]


def test_defaults_mask_ten_runs_of_twenty_characters():
    assert trained(mask_repetitive(), ["a" * 28], ["a" * 29]) == [True, False]  # 9 and 10 runs of 20


def test_untrained_rollouts_stay_untrained_and_wrong_options_are_errors():
    assert trained(mask_repetitive(), ["ab"], ["ab"], given=[False, True]) == [False, True]
    for wrong in ({"length": 0}, {"times": 1}):
        with pytest.raises(InputError, match="length"):
            mask_repetitive(**wrong)
