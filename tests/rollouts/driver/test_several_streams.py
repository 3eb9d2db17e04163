"""Several engines behind one stream."""

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.rollouts.driver.batch_stream import BatchStream
from handaxe.rollouts.driver.several_streams import SeveralStreams


class Says:
    def __init__(self, number):
        self.number = number

    def sample(self, requests):
        return [Completion([self.number, *one.ids], [0.0], [0.0], [0], "stop") for one in requests]


def ask(by, *ids):
    return Sample(ids, Sampling(), 0, frozenset(), by=by)


def made():
    return SeveralStreams({"": BatchStream(Says(1)), "user": BatchStream(Says(2))})


def test_requests_go_to_the_named_engine():
    streams = made()
    tickets = [streams.submit(ask(by, n)) for n, by in enumerate(["", "user", "", "user", "user"])]
    assert tickets == [0, 1, 2, 3, 4] and len(streams) == 5
    assert streams.interrupt(3) == Partial([], [], [], [])
    ended = streams.poll()
    assert [(ticket, said.ids) for ticket, said in ended] == [(0, [1, 0]), (1, [2, 1]), (2, [1, 2]), (4, [2, 4])]
    assert len(streams) == 0 and streams.poll() == []
    assert streams.submit(ask("user", 9)) == 5
    streams.close()
    assert len(streams) == 0


def test_an_unknown_engine_is_an_error():
    with pytest.raises(InputError, match="asks 'judge', but no engine of that name was given; there is 'user'"):
        made().submit(ask("judge", 1))


class Slow(BatchStream):
    """Samples elsewhere; remembers how long it was let wait."""

    def __init__(self, engine):
        super().__init__(engine)
        self.waits = []

    def poll(self, wait=0.0):
        self.waits.append(wait)
        return []


def test_external_engines_may_wait_beside_other_engines():
    slow, other = Slow(Says(1)), Slow(Says(2))
    streams = SeveralStreams({"": slow, "user": other})
    streams.submit(ask("", 0))
    streams.poll(0.5)
    streams.submit(ask("user", 1))
    streams.poll(0.5)
    assert slow.waits[0] == 0.5 and 0 < slow.waits[1] < 0.5 and other.waits == [slow.waits[1]]
