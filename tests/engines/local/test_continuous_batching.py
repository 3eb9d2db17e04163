import random

import pytest
import torch

from handaxe.core.errors import InputError, SamplingError, TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local import continuous_batching
from handaxe.engines.local.continuous_batching import SlotStream
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel

pytestmark = pytest.mark.exact

CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=120)


def engine(seed=1, dtype=torch.float64, **options):
    """In float64, where the rounding caused by caching and by other rows changes no sampled token."""
    return LocalEngine(TinyModel(TinyModel.new(CONFIG, seed=seed).module.to(dtype), pad_id=0), **options)


def request(ids, seed=0, tokens=5, stop=(), **sampling):
    return Sample(list(ids), Sampling(max_tokens=tokens, **sampling), seed, frozenset(stop))


def finish(stream):
    done = {}
    while len(stream):
        done.update(stream.poll())
    return done


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert (one.ids, one.version, one.finish) == (other.ids, other.version, other.finish)
        assert one.logp == pytest.approx(other.logp, abs=1e-9)
        assert one.behaviour_logp == pytest.approx(other.behaviour_logp, abs=1e-9)


def alone(sample):
    return engine().sample([sample])[0]


def test_alternatives_belong_to_their_rows_and_change_no_token():
    """Rows with and without alternatives, more than fit at a time, one of them continued."""
    begun = alone(request([1, 2], 3, tokens=3))
    rows = [request([1, 2, k], k, tokens=3 + k, temperature=0.5 * k)._replace(top=(0, 2, 99)[k % 3]) for k in range(6)]
    rows.append(request([1, 2], 3)._replace(top=1, prefix=Partial(*begun[:4])))
    found = engine(max_rows=3).sample(rows)
    same(found, [alone(row._replace(top=0)) for row in rows])
    model = engine().model
    for row, done in zip(rows, found, strict=True):
        new = len(done.ids) - (len(begun.ids) if row.prefix else 0)
        assert len(done.top) == (new if row.top else 0)
        for k, top in enumerate(done.top, len(done.ids) - new):
            ids = torch.tensor([[*row.ids, *done.ids[:k]]])
            logits_V = model.head(model.hidden(ids, ids >= 0))[0, -1]
            logp = (logits_V / (row.sampling.temperature or 1.0)).log_softmax(-1).tolist()
            order = sorted(range(24), key=lambda token: -logp[token])[: row.top]
            assert top == [(token, pytest.approx(logp[token], abs=1e-9)) for token in order]


# --- prefix caching ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix_cache_tokens", [0, 10**4])
def test_next_turn_reads_only_new_tokens(prefix_cache_tokens):
    """Even without a prefix cache, because the trajectory keeps its slot."""
    stream, ids = engine(prefix_cache_tokens=prefix_cache_tokens).stream(), list(range(1, 11))
    for turn in range(6):
        ticket = stream.submit(request(ids, turn))
        sampled = finish(stream)[ticket].ids
        ids = [*ids, *sampled, 3, turn]
    # The prompt, then in each turn the last sampled id, which has no keys yet, and the two ids appended after it.
    assert stream.read_tokens == 10 + 5 * 3
    assert stream.reused_tokens == sum(10 + 7 * turn - 3 for turn in range(1, 6))


@pytest.mark.parametrize("max_rows", [8, 2])
def test_siblings_read_their_prompt_once(max_rows):
    stream, prompt = engine(max_rows=max_rows).stream(), list(range(1, 13))
    tickets = [stream.submit(request(prompt, seed)) for seed in range(8)]
    done = finish(stream)
    same([done[t] for t in tickets], [alone(request(prompt, seed)) for seed in range(8)])
    # The three pairs admitted later find the prompt in the cache and read its last id for the logits.
    assert stream.read_tokens == 12 + (3 if max_rows == 2 else 0)


def test_forks_read_their_shared_prefix_once():
    stream, prompt = engine().stream(), list(range(1, 9))
    ticket = stream.submit(request(prompt, 0, tokens=10))
    row = [*prompt, *finish(stream)[ticket].ids]
    assert stream.read_tokens == 8
    forks = [[*row[:12], 1], [*row[:12], 1, 2], [*row[:15], 4]]
    tickets = [stream.submit(request(ids, 5 + k)) for k, ids in enumerate(forks)]
    done = finish(stream)
    assert stream.read_tokens == 8 + (row[12] != 1) + 1 + (row[15] != 4)
    same([done[t] for t in tickets], [alone(request(ids, 5 + k)) for k, ids in enumerate(forks)])


def test_full_prefix_cache_evicts_and_completions_stay_equal():
    stream = engine(prefix_cache_tokens=30, max_rows=2).stream()
    uncached = engine(prefix_cache_tokens=0, max_rows=1).stream()
    draw, rows = random.Random(0), [[k + 1] * 6 for k in range(5)]
    for turn in range(20):
        k = draw.randrange(len(rows))
        sample = request(rows[k], turn)
        tickets = [each.submit(sample) for each in (stream, uncached)]
        one, other = (finish(each)[ticket] for each, ticket in zip((stream, uncached), tickets))
        same([one], [other])
        assert stream.cached_tokens <= 30 and uncached.cached_tokens == 0
        rows[k] = [*rows[k], *one.ids, turn]
    assert stream.evicted_tokens > 0 and stream.read_tokens < uncached.read_tokens


# --- independence of other rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_rows, prefix_cache_tokens", [(3, 60), (9, 10**4), (20, 0)])
def test_completions_do_not_depend_on_other_rows(max_rows, prefix_cache_tokens):
    """Random requests are submitted, interrupted and resumed; each equals its completion in a new engine."""
    draw = random.Random(max_rows)
    stream = engine(max_rows=max_rows, prefix_cache_tokens=prefix_cache_tokens).stream()
    rules = [{}, {"temperature": 0.6}, {"temperature": 0}, {"top_p": 0.7}, {"top_k": 3, "temperature": 1.3}]
    prefixes = [[draw.randrange(24) for _ in range(n)] for n in (1, 2, 15, 40)]
    samples = [
        request(
            [*draw.choice(prefixes), *[draw.randrange(24) for _ in range(draw.randrange(4))]],
            seed,
            draw.randrange(1, 20),
            [draw.randrange(24)],
            **draw.choice(rules),
        )
        for seed in range(30)
    ]
    waiting, owner, done = list(range(30)), {}, {}
    while waiting or len(stream):
        for _ in range(draw.randrange(4)):
            if waiting:
                index = waiting.pop(0)
                owner[stream.submit(samples[index])] = index
        for ticket, completion in stream.poll():
            done[owner.pop(ticket)] = completion
        if owner and draw.random() < 0.2:
            ticket = draw.choice(list(owner))
            index = owner.pop(ticket)
            samples[index] = samples[index]._replace(prefix=stream.interrupt(ticket))
            waiting.append(index)
    same([done[index] for index in range(30)], [alone(each._replace(prefix=None)) for each in samples])


def test_equal_requests_at_equal_polls_are_bit_for_bit_equal():
    """In float32, in two engines."""
    found = []
    for _ in range(2):
        stream, done = engine(dtype=torch.float32, max_rows=5).stream(), {}
        for seed in range(12):
            stream.submit(request([1, 2, *range(seed)], seed, tokens=3 + seed % 7))
            done.update(stream.poll())
        found.append(done | finish(stream))
    assert [each[:5] for each in found[0].values()] == [each[:5] for each in found[1].values()]


def test_waiting_rows_are_admitted_in_order():
    stream = engine(max_rows=2).stream()
    for seed in range(5):
        stream.submit(request([1, 2], seed, tokens=3))
    polls = [[ticket for ticket, _ in stream.poll()] for _ in range(9)]
    assert polls == [[], [], [0, 1], [], [], [2, 3], [], [], [4]] and len(stream) == 0


def test_last_rows_move_into_free_slots(monkeypatch):
    """A long row behind many short rows is moved to the first slots."""
    made = engine()
    stream = made.stream()
    slots, write = [], stream._cache.write
    monkeypatch.setattr(stream._cache, "write", lambda ids, *rest: slots.append(len(ids)) or write(ids, *rest))
    samples = [request([1, k], k, tokens=4 if k < 20 else 30) for k in range(21)]
    for each in samples:
        stream.submit(each)
    done = finish(stream)
    assert slots[0] == 21 and max(slots[5:]) <= 8
    same([done[20]], [alone(samples[20])])


# --- weights -----------------------------------------------------------------------------------------------------


def new_weights(made, version):
    with torch.no_grad():
        for parameter, other in zip(made.model.module.parameters(), engine(seed=2).model.module.parameters()):
            parameter.copy_(other)
    made.version = version


@pytest.mark.parametrize("version", [1, 0])
def test_new_weights_are_detected_even_at_an_unchanged_version(version):
    made = engine()
    stream, sample = made.stream(), request(range(1, 9), 3, tokens=9)
    stream.submit(sample)
    for _ in range(4):
        stream.poll()
    new_weights(made, version)
    later = stream.submit(sample)
    done = finish(stream)
    assert done[0].version == [0] * 4 + [version] * 5
    assert done[0].ids[:4] == engine().sample([sample])[0].ids[:4]
    part = Partial(*(list(values[:4]) for values in done[0][:4]))
    fresh = engine(seed=2)
    fresh.version = version
    same([done[0]], fresh.sample([sample._replace(prefix=part)]))
    same([done[later]], fresh.sample([sample]))
    assert stream.read_tokens == 8 + 12  # read again with 4 sampled tokens; the later request shares the first 8


def test_new_weights_drop_the_prefix_cache():
    made, ids = engine(), list(range(1, 9))
    stream = made.stream()
    stream.submit(request(ids))
    finish(stream)
    assert stream.cached_tokens > 0
    new_weights(made, 1)
    ticket = stream.submit(request(ids))
    same([finish(stream)[ticket]], made.sample([request(ids)]))
    assert stream.read_tokens == 16


# --- other -------------------------------------------------------------------------------------------------------


def test_closed_stream_drops_requests_and_refuses_new_ones():
    made = engine()
    stream = made.stream()
    assert isinstance(stream, SlotStream) and len(stream) == 0 and stream.poll(1.0) == []
    ticket = stream.submit(request([1]))
    stream.poll()
    assert len(stream.interrupt(ticket).ids) == 1
    with pytest.raises(InputError, match="no request 0 to interrupt"):
        stream.interrupt(ticket)
    stream.submit(request([1]))
    stream.close()
    stream.close()
    assert len(stream) == 0 and stream.cached_tokens == 0 and stream.poll() == []
    with pytest.raises(InputError, match="closed"):
        stream.submit(request([1]))


def test_refused_request_takes_no_ticket():
    stream = engine().stream()
    with pytest.raises(InputError, match="request 0 cannot be sampled"):
        stream.submit(request([]))
    assert stream.submit(request([1])) == 0


def test_sampling_restores_the_train_mode():
    made = engine()
    made.model.module.train()
    made.sample([request([1])])
    assert made.model.module.training and made.model.module.blocks[0].training


def test_nan_weights_raise_training_error():
    made = engine()
    with torch.no_grad():
        made.model.module.norm.weight.fill_(torch.nan)
    with pytest.raises(TrainingError, match="request 0.*not finite"):
        made.sample([request([1])])


def test_failed_request_leaves_the_stream_and_others_continue(monkeypatch):
    made, good = engine(), [request([1], tokens=3), request([2], seed=1), request([1, 2], seed=2, tokens=2)]
    expected = [one.ids for one in made.sample(good)]
    monkeypatch.setattr(continuous_batching, "check_request", lambda *_: None)  # refuses the temperature
    stream = made.stream()
    bad = [stream.submit(request([k], temperature=5e-324, tokens=3)) for k in (1, 2)]
    tickets = [stream.submit(one) for one in good]
    done, failed = {}, []
    while len(stream):
        try:
            done.update(stream.poll())
        except SamplingError as error:
            failed.append(error.ticket)
    assert failed == bad and [done[ticket].ids for ticket in tickets] == expected
    assert stream.poll() == []


def test_completions_hold_python_numbers_and_seconds():
    short, long = engine().sample([request([1], tokens=1), request([1], tokens=30)])
    assert all(type(x) is int for x in long.ids + long.version)
    assert all(type(x) is float for x in long.logp + long.behaviour_logp)
    assert 0 < short.seconds < long.seconds
