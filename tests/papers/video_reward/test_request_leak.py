import numpy as np
import pytest

from handaxe.papers.video_reward.request_leak import request_leak

INPUT_NF = np.array([[1.0, 0.0], [4.0, 2.0]])


def test_the_change_is_in_standard_deviations_by_hand():
    assert request_leak(lambda x_NF: x_NF[:, 1:], INPUT_NF, picture=1, needs=[False]) == pytest.approx(2, abs=1e-9)
    assert request_leak(lambda x_NF: x_NF[:, :1], INPUT_NF, picture=1, needs=[False]) == 0


def test_qualities_that_need_the_request_do_not_count():
    assert request_leak(lambda x_NF: x_NF, INPUT_NF, picture=1, needs=[False, True]) == 0
    assert request_leak(lambda x_NF: x_NF, INPUT_NF, picture=1, needs=[False, False]) == pytest.approx(1, abs=1e-9)
