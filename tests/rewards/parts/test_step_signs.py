import numpy as np

from handaxe.rewards.parts.step_signs import step_signs


def test_example():
    said = np.array([0.8, 0.0, -0.1])
    right, wrong = step_signs([said, said], np.array([True, False]))
    assert right.tolist() == [1, 1, -1] and wrong.tolist() == [1, -1, -1]
    assert step_signs([np.zeros(0)], np.array([True]))[0].tolist() == []
