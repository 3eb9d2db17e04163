from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.models.chat_formats.compact import END, Compact
from handaxe.rollouts.driver.batch_stream import BatchStream
from handaxe.testing.scripted_engine import ScriptedEngine


class Counting(ScriptedEngine):
    def sample(self, requests):
        self.sizes = [*getattr(self, "sizes", []), len(requests)]
        return super().sample(requests)


def request(prefix=None, most=64):
    return Sample([1], Sampling(max_tokens=most), 0, frozenset({END}), prefix=prefix)


def test_waiting_requests_form_one_batch_without_removed_ones():
    engine = Counting(Compact(), ["ab"])
    stream = BatchStream(engine)
    assert stream.poll() == [] and len(stream) == 0
    begun = Partial([*b"a"], [0.0], [0.0], [3])
    assert [stream.submit(request()) for _ in range(3)] == [0, 1, 2]
    assert stream.submit(request(begun)) == 3 and len(stream) == 4
    assert stream.interrupt(1) == Partial([], [], [], [])
    over = stream.poll()
    assert [ticket for ticket, _ in over] == [0, 2, 3] and engine.sizes == [3]
    assert over[2][1].ids == [*b"ab", END] and over[2][1].version == [3, 0, 0]
    stream.submit(request(begun))
    assert stream.interrupt(4) == begun
    stream.submit(request())
    stream.close()
    assert len(stream) == 0 and engine.sizes == [3]
