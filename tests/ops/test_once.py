import threading

import pytest

from handaxe.ops.once import once


def test_concurrent_calls_make_one_value():
    made, started, found = [], threading.Event(), []

    def make():
        started.wait(10)
        made.append(len(made))
        return object()

    value = once(make)
    threads = [threading.Thread(target=lambda: found.append(value())) for _ in range(8)]
    for thread in threads:
        thread.start()
    started.set()
    for thread in threads:
        thread.join()
    assert made == [0] and len(found) == 8 and len({id(one) for one in found}) == 1 and value() is found[0]


def test_a_value_may_be_none_and_a_failure_is_tried_again():
    calls = []

    def make():
        calls.append(1)
        if len(calls) == 1:
            raise ValueError("first")

    value = once(make)
    with pytest.raises(ValueError, match="first"):
        value()
    assert value() is None is value() and len(calls) == 2
