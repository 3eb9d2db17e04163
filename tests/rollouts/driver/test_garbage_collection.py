import gc

import pytest

from handaxe.rollouts.driver.garbage_collection import fewer_collections


def test_thresholds_are_raised_and_restored_after_errors():
    before = gc.get_threshold()
    try:
        gc.set_threshold(700, 10, 30)
        with fewer_collections(1000):
            assert gc.get_threshold() == (50_000, 20, 30)
        with pytest.raises(ValueError), fewer_collections(10_000):
            assert gc.get_threshold() == (500_000, 20, 30)
            raise ValueError
        assert gc.get_threshold() == (700, 10, 30)
        gc.set_threshold(0)
        with fewer_collections(10_000):
            assert gc.get_threshold()[0] == 0, "switched off stays off"
    finally:
        gc.set_threshold(*before)
