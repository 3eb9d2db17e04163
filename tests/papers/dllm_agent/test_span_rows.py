import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.dllm_agent.span_rows import CLEAN, action_spans, span_row

IDS = [10, 11, 12, 20, 21, 13, 14, 22, 23]


def test_action_spans_are_the_runs_of_the_mask():
    mask = np.array([0, 0, 0, 1, 1, 0, 0, 1, 1], bool)
    assert action_spans(mask) == [(3, 5), (7, 9)]
    assert action_spans(np.zeros(4, bool)) == []
    assert action_spans(np.ones(3, bool)) == [(0, 3)]


def test_a_row_holds_the_clean_copy_and_a_block_for_each_span():
    row = span_row(IDS, [(3, 5), (7, 9)], size=2, pad=0)
    assert row.ids.tolist() == [*IDS, 12, 20, 21, 14, 22, 23]
    assert row.before.tolist() == [-2, 10, 11, 12, 20, 21, 13, 14, 22, 11, 12, 20, 13, 14, 22]
    assert row.position.tolist() == [*range(9), 2, 3, 4, 6, 7, 8]
    assert row.block.tolist() == [*[CLEAN] * 9, 0, 0, 0, 1, 1, 1]
    assert row.start.tolist() == [*range(1, 10), 2, 2, 2, 6, 6, 6]
    assert np.flatnonzero(row.action).tolist() == [3, 4, 7, 8, 10, 11, 13, 14]
    assert np.flatnonzero(row.predicted).tolist() == [10, 11, 13, 14]


def test_long_spans_are_cut_into_blocks_and_the_last_one_is_padded():
    row = span_row([1, 2, 3, 4, 5], [(2, 5)], size=2, pad=9)
    assert row.ids[5:].tolist() == [2, 3, 4, 4, 5, 9]
    assert row.before[5:].tolist() == [1, 2, 3, 3, 4, 5]
    assert row.position[5:].tolist() == [1, 2, 3, 3, 4, 5]
    assert row.block[5:].tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("spans", [[(0, 2)], [(3, 3)], [(3, 5), (4, 6)], [(7, 10)], [(5, 4)]])
def test_impossible_spans_are_refused(spans):
    with pytest.raises(InputError, match="must lie after token"):
        span_row(IDS, spans, size=2, pad=0)


def test_an_empty_block_is_refused():
    with pytest.raises(InputError, match="give 1 or more"):
        span_row(IDS, [(3, 5)], size=0, pad=0)
