import random

import pytest
import torch

from handaxe.core.errors import InputError, TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.stream import SlotStream
from handaxe.models.tiny import TinyConfig, TinyModel

pytestmark = pytest.mark.exact

CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=120)


def engine(seed=1, dtype=torch.float64, **options):
    """In float64: what is kept and who is beside change the rounding, and then no draw."""
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


def alone(asked):
    return engine().sample([asked])[0]


# --- nothing is read twice ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept_tokens", [0, 10**4])
def test_a_trajectory_reads_only_what_is_new(kept_tokens):
    """With its slot to itself it does so even without a store."""
    stream, ids = engine(kept_tokens=kept_tokens).stream(), list(range(1, 11))
    for turn in range(6):
        ticket = stream.submit(request(ids, turn))
        sampled = finish(stream)[ticket].ids
        ids = [*ids, *sampled, 3, turn]
    # The prompt, then each turn the last sampled id, which was never computed with, and the two that followed it.
    assert stream.read_tokens == 10 + 5 * 3
    assert stream.reused_tokens == sum(10 + 7 * turn - 3 for turn in range(1, 6))


@pytest.mark.parametrize("max_rows", [8, 2])
def test_siblings_read_their_prompt_once(max_rows):
    stream, prompt = engine(max_rows=max_rows).stream(), list(range(1, 13))
    tickets = [stream.submit(request(prompt, seed)) for seed in range(8)]
    done = finish(stream)
    same([done[t] for t in tickets], [alone(request(prompt, seed)) for seed in range(8)])
    # The three pairs that join later find the prompt's keys and values, and read its last id for the logits.
    assert stream.read_tokens == 12 + (3 if max_rows == 2 else 0)


def test_forks_share_what_they_have_in_common():
    stream, prompt = engine().stream(), list(range(1, 9))
    ticket = stream.submit(request(prompt, 0, tokens=10))
    row = [*prompt, *finish(stream)[ticket].ids]
    assert stream.read_tokens == 8
    forks = [[*row[:12], 1], [*row[:12], 1, 2], [*row[:15], 4]]
    tickets = [stream.submit(request(ids, 5 + k)) for k, ids in enumerate(forks)]
    done = finish(stream)
    assert stream.read_tokens == 8 + (row[12] != 1) + 1 + (row[15] != 4)
    same([done[t] for t in tickets], [alone(request(ids, 5 + k)) for k, ids in enumerate(forks)])


def test_a_full_store_forgets_and_everything_stays_right():
    stream, free = engine(kept_tokens=30, max_rows=2).stream(), engine(kept_tokens=0, max_rows=1).stream()
    draw, rows = random.Random(0), [[k + 1] * 6 for k in range(5)]
    for turn in range(20):
        k = draw.randrange(len(rows))
        asked = request(rows[k], turn)
        both = [each.submit(asked) for each in (stream, free)]
        one, other = (finish(each)[ticket] for each, ticket in zip((stream, free), both))
        same([one], [other])
        assert stream.kept_tokens <= 30 and free.kept_tokens == 0
        rows[k] = [*rows[k], *one.ids, turn]
    assert stream.evicted > 0 and stream.read_tokens < free.read_tokens


# --- in any company ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_rows, kept_tokens", [(3, 60), (9, 10**4), (20, 0)])
def test_the_same_in_any_company(max_rows, kept_tokens):
    """Random requests join, are interrupted and go on; each is what it is alone in a fresh engine."""
    draw, stream = random.Random(max_rows), engine(max_rows=max_rows, kept_tokens=kept_tokens).stream()
    rules = [{}, {"temperature": 0.6}, {"temperature": 0}, {"top_p": 0.7}, {"top_k": 3, "temperature": 1.3}]
    begins = [[draw.randrange(24) for _ in range(n)] for n in (1, 2, 15, 40)]
    asked = [
        request(
            [*draw.choice(begins), *[draw.randrange(24) for _ in range(draw.randrange(4))]],
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
                place = waiting.pop(0)
                owner[stream.submit(asked[place])] = place
        for ticket, completion in stream.poll():
            done[owner.pop(ticket)] = completion
        if owner and draw.random() < 0.2:
            ticket = draw.choice(list(owner))
            place = owner.pop(ticket)
            asked[place] = asked[place]._replace(begun=stream.interrupt(ticket))
            waiting.append(place)
    same([done[place] for place in range(30)], [alone(each._replace(begun=None)) for each in asked])


def test_to_the_bit_the_same_in_the_same_company():
    """In float32: the same requests, submitted at the same polls, to two engines."""
    found = []
    for _ in range(2):
        stream, done = engine(dtype=torch.float32, max_rows=5).stream(), {}
        for seed in range(12):
            stream.submit(request([1, 2, *range(seed)], seed, tokens=3 + seed % 7))
            done.update(stream.poll())
        found.append(done | finish(stream))
    assert [each[:5] for each in found[0].values()] == [each[:5] for each in found[1].values()]


def test_rows_wait_for_a_slot_in_order():
    stream = engine(max_rows=2).stream()
    for seed in range(5):
        stream.submit(request([1, 2], seed, tokens=3))
    polls = [[ticket for ticket, _ in stream.poll()] for _ in range(9)]
    assert polls == [[], [], [0, 1], [], [], [2, 3], [], [], [4]] and len(stream) == 0


def test_last_rows_move_into_gaps(monkeypatch):
    """One long row behind many short ones is soon computed in the first slots alone."""
    made = engine()
    stream = made.stream()
    spans, write = [], stream._cache.write
    monkeypatch.setattr(stream._cache, "write", lambda ids, *rest: spans.append(len(ids)) or write(ids, *rest))
    asked = [request([1, k], k, tokens=4 if k < 20 else 30) for k in range(21)]
    for each in asked:
        stream.submit(each)
    done = finish(stream)
    assert spans[0] == 21 and max(spans[5:]) <= 8
    same([done[20]], [alone(asked[20])])


# --- weights -----------------------------------------------------------------------------------------------------


def new_weights(made, version):
    with torch.no_grad():
        for parameter, other in zip(made.model.module.parameters(), engine(seed=2).model.module.parameters()):
            parameter.copy_(other)
    made.version = version


@pytest.mark.parametrize("version", [1, 0])
def test_new_weights_are_noticed_also_when_the_version_says_nothing(version):
    made = engine()
    stream, asked = made.stream(), request(range(1, 9), 3, tokens=9)
    stream.submit(asked)
    for _ in range(4):
        stream.poll()
    new_weights(made, version)
    later = stream.submit(asked)
    done = finish(stream)
    assert done[0].version == [0] * 4 + [version] * 5
    assert done[0].ids[:4] == engine().sample([asked])[0].ids[:4]
    part = Partial(*(list(values[:4]) for values in done[0][:4]))
    fresh = engine(seed=2)
    fresh.version = version
    same([done[0]], fresh.sample([asked._replace(begun=part)]))
    same([done[later]], fresh.sample([asked]))
    assert stream.read_tokens == 8 + 12  # read again with its 4 sampled tokens; the later one begins with the same 8


def test_kept_keys_of_old_weights_are_dropped():
    made, ids = engine(), list(range(1, 9))
    stream = made.stream()
    stream.submit(request(ids))
    finish(stream)
    assert stream.kept_tokens > 0
    new_weights(made, 1)
    ticket = stream.submit(request(ids))
    same([finish(stream)[ticket]], made.sample([request(ids)]))
    assert stream.read_tokens == 16


# --- the rest ----------------------------------------------------------------------------------------------------


def test_a_stream_is_of_slots_and_closes():
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
    assert len(stream) == 0 and stream.kept_tokens == 0 and stream.poll() == []
    with pytest.raises(InputError, match="closed"):
        stream.submit(request([1]))


def test_a_refused_request_takes_no_ticket():
    stream = engine().stream()
    with pytest.raises(InputError, match="request 0 cannot be sampled"):
        stream.submit(request([]))
    assert stream.submit(request([1])) == 0


def test_the_modules_mode_is_put_back():
    made = engine()
    made.model.module.train()
    made.sample([request([1])])
    assert made.model.module.training and made.model.module.blocks[0].training


def test_damaged_weights_are_an_error():
    made = engine()
    with torch.no_grad():
        made.model.module.norm.weight.fill_(torch.nan)
    with pytest.raises(TrainingError, match="request 0.*not finite"):
        made.sample([request([1])])


def test_plain_numbers_and_seconds():
    short, long = engine().sample([request([1], tokens=1), request([1], tokens=30)])
    assert all(type(x) is int for x in long.ids + long.version)
    assert all(type(x) is float for x in long.logp + long.behaviour_logp)
    assert 0 < short.seconds < long.seconds
