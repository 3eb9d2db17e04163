import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.mle_dojo.position_score import board_position, human_rank, position_score

BOARD = [0.80, 0.95, 0.70, 0.90]
SCORES = st.floats(0, 1)


@pytest.mark.parametrize(
    "score, position, value", [(0.85, 3, 0.5), (0.5, 5, 0.0), (0.99, 1, 1.0), (0.95, 1, 1.0), (0.70, 4, 0.25)]
)
def test_positions_by_hand(score, position, value):
    assert board_position(score, BOARD) == position
    assert position_score(score, BOARD) == pytest.approx(value, abs=1e-9)


def test_low_errors_are_better_on_a_board_of_errors():
    assert position_score(0.75, BOARD, higher=False) == 0.75 and position_score(0.6, BOARD, higher=False) == 1.0


@given(SCORES, st.lists(SCORES, min_size=1, max_size=8), st.booleans())
def test_positions_equal_a_loop_over_the_sorted_board(score, board, higher):
    """Loop of the released environment: the first entry that the score reaches."""
    position = len(board) + 1
    for place, entry in enumerate(sorted(board, reverse=higher)):
        if (score >= entry) if higher else (score <= entry):
            position = place + 1
            break
    expected = (len(board) - position + 1) / len(board)
    assert position_score(score, board, higher=higher) == pytest.approx(expected, abs=1e-9)


def test_human_rank_is_the_mean_over_boards():
    assert human_rank([0.85, 0.3], [BOARD, [0.1, 0.2]]) == pytest.approx(0.75, abs=1e-9)
    assert human_rank([0.85], [BOARD]) == 0.5


def test_bad_boards_raise():
    with pytest.raises(InputError, match="a board of finite entries"):
        position_score(0.5, [])
    with pytest.raises(InputError, match="a finite score"):
        position_score(float("nan"), BOARD)
    with pytest.raises(InputError, match="one score for each"):
        human_rank([0.5], [])
