import pytest
from helpers.image_records import noise
from helpers.vision_policy import PaddedVision, vision_model
from torch import nn

from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.static_batching import RoundStream


def request(seed, ids=(1, 2), prefix=None):
    return Sample(list(ids), Sampling(max_tokens=6), seed, frozenset(), prefix=prefix)


def make_stream(model, version=0):
    return RoundStream(model, version=lambda: version, max_rows=2)


def test_each_poll_completes_all_waiting_requests(learned):
    engine, stream = LocalEngine(learned(dropout=0.0)), make_stream(learned(), 3)
    assert isinstance(engine.stream(), RoundStream)
    requests = [request(0), request(1, [3]), request(2)]
    for each in requests:
        stream.submit(each)
    assert len(stream) == 3
    done = stream.poll()
    assert [ticket for ticket, _ in done] == [0, 1, 2] and len(stream) == 0 and stream.poll() == []
    assert [d.ids for _, d in done] == [d.ids for d in engine.sample(requests)]
    assert done[0][1].version == [3] * 6
    assert stream.submit(request(4)) == 3


def test_partial_turn_resumes_with_equal_tokens(learned):
    whole = LocalEngine(learned()).sample([request(5)])[0]
    part = Partial(whole.ids[:4], whole.logp[:4], whole.behaviour_logp[:4], [7] * 4)
    stream = make_stream(learned(), 8)
    stream.submit(request(5, prefix=part))
    [(_, done)] = stream.poll()
    assert done.ids == whole.ids and done.version == [7] * 4 + [8] * 2
    assert done.logp == pytest.approx(whole.logp, abs=1e-12)


def test_interrupted_request_returns_its_partial_turn(learned):
    stream, part = make_stream(learned()), Partial([4], [-1.0], [-1.0], [0])
    tickets = [stream.submit(request(0)), stream.submit(request(1, prefix=part))]
    assert stream.interrupt(tickets[1]) == part and len(stream) == 1
    assert [ticket for ticket, _ in stream.poll()] == tickets[:1]
    for ticket in (0, 1, 9):
        with pytest.raises(InputError, match=f"no request {ticket} to interrupt"):
            stream.interrupt(ticket)
    stream.submit(request(0))
    stream.close()
    assert len(stream) == 0
    with pytest.raises(InputError, match="closed"):
        stream.submit(request(0))


def test_sampling_disables_dropout_and_restores_train_mode(learned):
    model = learned()
    model.module.train()
    stream = make_stream(model)
    stream.submit(request(0))
    assert stream.poll()[0][1].ids == LocalEngine(learned(dropout=0.0)).sample([request(0)])[0].ids
    assert model.module.training


def test_model_without_cache_is_refused():
    class Bare:
        module = nn.Linear(1, 1)

    with pytest.raises(InputError, match="Bare cannot be sampled"):
        make_stream(Bare())


@pytest.mark.exact
def test_images_of_all_requests_are_read_in_a_round():
    images = [noise(seed, 16, 16) for seed in range(3)]
    requests = [request(seed, [1, *image.ids(4), 2])._replace(images=(image,)) for seed, image in enumerate(images)]
    requests += [request(4)._replace(images=(noise(9),)), request(5)]
    engine, stream = LocalEngine(vision_model()), make_stream(vision_model(model_class=PaddedVision))
    for each in requests:
        stream.submit(each)
    done = {}
    while len(stream):
        done |= dict(stream.poll())
    for ticket, want in enumerate(engine.sample(requests)):
        assert done[ticket].ids == want.ids and done[ticket].logp == pytest.approx(want.logp, abs=1e-9)


def test_text_rounds_get_no_images(learned):
    """A model without vision is never given images, also if a request has some that no id is of."""
    stream = make_stream(learned())
    stream.submit(request(0)._replace(images=(noise(),)))
    assert len(stream.poll()) == 1
