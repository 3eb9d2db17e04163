import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.papers.dllm_agent.span_mask import naive_mask, span_mask
from handaxe.papers.dllm_agent.span_rows import CLEAN, span_row

CONTEXT = [0, 1, 2]
FIRST = [3, 4]
RESULT = [5, 6]
SECOND = [7, 8]
ROW = span_row([10, 11, 12, 20, 21, 13, 14, 22, 23], [(3, 5), (7, 9)], size=2, pad=0)
"""The worked example: context 0 1 2, action 3 4, tool result 5 6, action 7 8. Blocks are at 9 10 11 and 12 13 14."""


def seen(mask, row, column):
    """Positions that a row of the mask sees: (in the clean copy, in noised blocks)."""
    places = np.flatnonzero(mask[column])
    clean = row.block[places] == CLEAN
    return row.position[places[clean]].tolist(), row.position[places[~clean]].tolist()


def test_the_worked_example_of_the_aligned_mask():
    mask = span_mask(ROW)
    for place in (13, 14):
        clean, noised = seen(mask, ROW, place)
        assert clean == [*CONTEXT, *FIRST, RESULT[0]]
        assert noised == [RESULT[1], *SECOND]  # the anchor is the last token of the tool result
    for place in (10, 11):
        assert seen(mask, ROW, place) == (CONTEXT[:2], [CONTEXT[2], *FIRST])
    for place in range(9):
        assert seen(mask, ROW, place) == ([*range(place + 1)], [])


def test_the_worked_example_of_the_naive_mask():
    mask = naive_mask(ROW)
    for place in range(15):
        assert seen(mask, ROW, place) == ([*CONTEXT, *RESULT], [*FIRST, *SECOND])


@st.composite
def rows(draw):
    spans, place = [], 0
    for _ in range(draw(st.integers(1, 3))):
        start = place + draw(st.integers(1, 3))
        place = start + draw(st.integers(1, 5))
        spans.append((start, place))
    return span_row(range(place + draw(st.integers(0, 2))), spans, size=draw(st.integers(1, 4)), pad=0)


@given(rows())
@settings(max_examples=25)
def test_the_aligned_mask_equals_its_loop(row):
    mask = span_mask(row)
    for n in range(len(row.ids)):
        for m in range(len(row.ids)):
            if row.block[m] == CLEAN:
                own = row.position[n] if row.block[n] == CLEAN else row.start[n] - 1
                expected = row.position[m] <= own
            else:
                expected = row.block[n] == row.block[m]
            assert mask[n, m] == expected
