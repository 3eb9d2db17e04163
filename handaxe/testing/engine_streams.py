"""Engine contract for streams: completions do not depend on other requests.

A completion equals the one that a new engine samples for its request alone: rows that join, leave or are interrupted,
and cached prefixes, must not change it. A stream may sample in
another process, also between two polls. The progress of a request is then unknown, so the checks bound its time and not
the number of polls.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, Stream, Streams
from handaxe.core.records import Sampling
from handaxe.core.requests import Completion, Partial, Sample
from handaxe.testing.engine_case import (
    WAIT,
    EngineCase,
    assert_close,
    assert_raises,
    assert_same_completion,
    completed_batch,
    example_batch,
    example_requests,
    finish_stream,
    train_steps,
)

__all__ = [
    "check_interrupting",
    "check_joining",
    "check_lost_sampler",
    "check_new_weights",
    "check_prefixes",
    "check_refusals",
]

TRIES = 7
"""Most tries to interrupt a request after its first token, each with twice the time."""


def check_joining(case: EngineCase) -> None:
    """Check completions of requests joining between two tokens; also tickets, order and length."""
    requests = example_requests(case.make_model(), Sampling(max_tokens=7)) * 2
    want = case.make_engine().sample(requests)
    stream, got = _stream(case.make_engine()), dict[int, Completion]()
    assert stream.poll() == [] and len(stream) == 0, "a new stream is empty, and there is nothing to poll"
    for place, request in enumerate(requests):
        assert stream.submit(request) == place, "tickets count from 0"
        assert len(stream) == place + 1 - len(got), "len(stream) counts the requests that are in or wait"
        got.update(stream.poll())
    got |= finish_stream(stream)
    for ticket, completion in enumerate(want):
        assert_same_completion(
            case, f"request {ticket}, which joined between two tokens of others,", got[ticket], completion
        )
    for request in requests:
        stream.submit(request)
    finish_stream(stream)


def check_interrupting(case: EngineCase) -> None:
    """Compare an interrupted and resumed turn with the uninterrupted turn."""
    engine = case.make_engine()
    requests = example_requests(case.make_model(), Sampling(max_tokens=8))
    for request, want in zip(requests, engine.sample(requests)):
        neighbour = request._replace(seed=request.seed + 1)
        for cut in (0, 1, 5):
            part = Partial(want.ids[:cut], want.logp[:cut], want.behaviour_logp[:cut], want.version[:cut])
            begun = request._replace(prefix=part)
            stream = _stream(case.make_engine())
            beside = stream.submit(neighbour)
            got = stream.interrupt(stream.submit(begun))
            assert got == part, f"interrupted before its first poll, a request has what it began with, not {got}"
            ticket, done = _once_more(stream, begun, want)
            done |= finish_stream(stream)
            assert_same_completion(case, f"a turn interrupted after {cut} tokens", done[ticket], want)
            assert_same_completion(
                case, "the neighbour of an interrupted turn", done[beside], engine.sample([neighbour])[0]
            )


def check_prefixes(case: EngineCase) -> None:
    """Compare completions of later turns, siblings and forks with a fresh engine."""
    stream, fresh = _stream(case.make_engine()), case.make_engine()
    first = example_requests(case.make_model(), Sampling(max_tokens=4))[0]
    first = first._replace(ids=first.ids[:2])
    turn = fresh.sample([first])[0].ids
    history = [*first.ids, *turn]
    rows = [first.ids, [*history, 1, 2], [*history, 1, 3], history, history[:-2], [*history[:-2], 1], [*history, 1]]
    for seed, ids in enumerate([*rows, *rows[::-1]]):
        request = first._replace(ids=ids, seed=seed, sampling=replace(first.sampling, max_tokens=3))
        ticket = stream.submit(request)
        done = finish_stream(stream)
        assert_same_completion(
            case, f"a request that begins as others did ({ids})", done[ticket], fresh.sample([request])[0]
        )


def check_new_weights(case: EngineCase) -> None:
    """Check requests after a step: new weights, no cached values of the old weights."""
    engine, old = case.make_engine(), case.make_engine()
    requests = example_requests(case.make_model(), Sampling(max_tokens=8))
    stream, done = _stream(engine), dict[int, Completion]()
    for request in requests:
        stream.submit(request)
    for _ in range(3):
        done.update(stream.poll(WAIT))
    train_steps(engine, [example_batch(case.make_model())])
    late = [stream.submit(request) for request in requests]
    done.update(finish_stream(stream))
    begun = [done[place].version[0] for place in range(len(requests))]
    assert 0 in begun, f"of the requests that were in before a step, none has a token of version 0: {begun}"
    for place, (request, ticket) in enumerate(zip(requests, late)):
        assert_same_completion(case, "a request that begins after a step", done[ticket], engine.sample([request])[0])
        completion = done[place]
        versions = completion.version
        in_order = versions == sorted(versions) and set(versions) <= {0, 1}
        assert in_order, f"versions of a turn over a step: {versions}"
        batch, start = completed_batch([request], [completion]), len(request.ids)
        for version, weights in ((0, old), (1, engine)):
            chosen = torch.tensor(versions) == version
            want = weights.forward(batch)["logp"][0, start:][chosen]
            what = f"logp of tokens of version {version} in a turn over a step"
            assert_close(what, torch.tensor(completion.logp)[chosen], want, case.tolerance)


def check_lost_sampler(case: EngineCase) -> None:
    """Compare completions after the death of a sampler process."""
    assert case.kill is not None
    requests = example_requests(case.make_model(), Sampling(max_tokens=8)) * 2
    engine = case.make_engine()
    want, stream = engine.sample(requests), _stream(engine)
    for request in requests:
        stream.submit(request)
    done = dict(stream.poll())
    case.kill(engine)
    done |= finish_stream(stream)
    for ticket, completion in enumerate(want):
        assert_same_completion(case, f"request {ticket}, whose sampler may have died,", done[ticket], completion)


def check_refusals(case: EngineCase) -> None:
    """Check the errors of invalid requests and tickets."""
    request = example_requests(case.make_model(), Sampling(max_tokens=3))[0]
    stream = _stream(case.make_engine())
    assert_raises(InputError, lambda: stream.submit(request._replace(ids=[])), "a request without ids")
    full = Partial([1, 1, 1], [-1.0] * 3, [-1.0] * 3, [0] * 3)
    assert_raises(
        InputError, lambda: stream.submit(request._replace(prefix=full)), "a turn with no token left to sample"
    )
    ticket = stream.submit(request)
    assert_raises(InputError, lambda: stream.interrupt(ticket + 1), "interrupting a request that was never submitted")
    done = finish_stream(stream)
    assert list(done) == [ticket], "a request that was refused changed what is sampled"
    assert_raises(InputError, lambda: stream.interrupt(ticket), "interrupting a request that has ended")
    stream.close()
    assert len(stream) == 0, "a closed stream has no requests"
    assert_raises(InputError, lambda: stream.submit(request), "a request to a closed stream")


def _stream(engine: Engine) -> Stream:
    assert isinstance(engine, Streams)
    return engine.stream()


def _once_more(stream: Stream, begun: Sample, want: Completion) -> tuple[int, dict[int, Completion]]:
    """Submit, interrupt after some tokens, and submit again; returns the ticket and the ended requests."""
    cut = len(begun.prefix.ids) if begun.prefix is not None else 0
    done, got = dict[int, Completion](), begun.prefix
    for tried in range(TRIES):
        ticket = stream.submit(begun)
        done |= dict(stream.poll(WAIT * (2**tried - 1)))
        if ticket in done:  # the stream samples in rounds, or elsewhere, and has it whole
            return ticket, done
        got = stream.interrupt(ticket)
        count = len(got.ids)
        assert count < len(want.ids), f"interrupted, it has {got}, which leaves no token to go on with"
        if count > cut or got != begun.prefix:
            break
    count = len(got.ids) if got is not None else 0
    right = count > cut and got is not None and got.ids == want.ids[:count]
    assert right, f"begun at {cut}, it has one token more after a poll, or several, of {want.ids}, not {got}"
    return stream.submit(begun._replace(prefix=got)), done
