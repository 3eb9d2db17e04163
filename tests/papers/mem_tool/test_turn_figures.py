import pytest

from handaxe.papers.mem_tool.play_modes import PlayedTurn
from handaxe.papers.mem_tool.turn_figures import turn_figures


def test_figures_by_hand():
    """Removed 6 of 9 added tools; three of four calls are correct; one of three requests lacks a step."""
    played = [PlayedTurn(3, 0, 3, 1, 1, 1.0), PlayedTurn(3, 3, 3, 2, 1, 0.0), PlayedTurn(3, 3, 3, 1, 1, 1.0)]
    found = turn_figures(played)
    assert found["removal"] == found["windows"] == pytest.approx(2 / 3) and found["held"] == 3
    assert found["correct"] == 0.75 and found["complete"] == pytest.approx(2 / 3)


def test_no_call_is_no_correct_call():
    assert turn_figures([PlayedTurn(1, 0, 1, 0, 0, 0.0)] * 3)["correct"] == 0
