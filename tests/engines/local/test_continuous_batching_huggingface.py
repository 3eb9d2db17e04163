"""Drafts in a stream change the number of forward passes, but no sampled token."""

import random

import pytest
import torch

from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.local.ngram_drafts import NgramDrafts
from handaxe.models.huggingface import HuggingFaceModel

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
VOCABULARY, MAX_LENGTH = 19, 90


def engine(draft_tokens=8, **options):
    from tokenizers import Tokenizer, models

    backend = Tokenizer(models.WordLevel({f"w{i}": i for i in range(VOCABULARY)}, unk_token="w0"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="w1")
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=MAX_LENGTH,
    )
    torch.manual_seed(0)
    module = transformers.LlamaForCausalLM(config).double()
    return LocalEngine(HuggingFaceModel(module, tokenizer), draft_tokens=draft_tokens, **options)


def requests(count, seed=0):
    """Random requests with repetitive prompts, low and high temperatures, various token limits and stop ids."""
    rng, out = random.Random(seed), []
    for number in range(count):
        ids = rng.choices(range(VOCABULARY), k=rng.choice([1, 2, 5])) * rng.choice([1, 4])
        sampling = Sampling(
            temperature=rng.choice([0.0, 0.02, 0.05, 1.0]),
            top_p=rng.choice([1.0, 0.9]),
            max_tokens=rng.choice([1, 2, 40, MAX_LENGTH]),
        )
        out.append(Sample(ids, sampling, number, frozenset(rng.sample(range(VOCABULARY), rng.choice([0, 2])))))
    return out


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert (list(one.ids), one.finish, one.version) == (list(other.ids), other.finish, other.version)
        assert one.logp == pytest.approx(other.logp, abs=1e-9)
        assert one.behaviour_logp == pytest.approx(other.behaviour_logp, abs=1e-9)


def play(made, sample_requests):
    """All completions in order, the stream, and the number of polls."""
    stream, done, polls = made.stream(), {}, 0
    for request in sample_requests:
        stream.submit(request)
    while len(stream):
        done.update(stream.poll())
        polls += 1
    return [done[ticket] for ticket in range(len(sample_requests))], stream, polls


@pytest.mark.slow
@pytest.mark.parametrize("max_rows", [1, 5, 64])
def test_drafts_sample_equal_tokens_in_fewer_forward_passes(max_rows):
    sample_requests = requests(40)
    want, plain, more = play(engine(0, max_rows=max_rows), sample_requests)
    found, stream, fewer = play(engine(8, max_rows=max_rows), sample_requests)
    same(found, want)
    assert fewer < more and plain.drafted_tokens == plain.accepted_tokens == 0
    assert 0 < stream.accepted_tokens < stream.drafted_tokens
    assert stream.read_tokens == plain.read_tokens and stream.reused_tokens == plain.reused_tokens
    if max_rows == 1:
        sampled = sum(len(each.ids) for each in want)
        assert (more, fewer) == (sampled, sampled - stream.accepted_tokens)


@pytest.mark.parametrize("longest", [1, 3, 20])
def test_wrong_drafts_change_no_token(monkeypatch, longest):
    rng, sample_requests = random.Random(longest), requests(30, seed=1)
    want = engine(0).sample(sample_requests)

    def random_draft(drafts, ids, most):
        return rng.choices(range(VOCABULARY), k=rng.randint(0, max(0, min(most, longest))))

    monkeypatch.setattr(NgramDrafts, "draft", random_draft)
    found, stream, _ = play(engine(8, max_rows=7), sample_requests)
    same(found, want)
    assert stream.drafted_tokens > stream.accepted_tokens


def test_correct_drafts_sample_all_tokens_in_two_polls(monkeypatch):
    sample_requests = Sample([3, 4, 5], Sampling(max_tokens=30), 7, frozenset())
    [want] = engine(0).sample([sample_requests])
    row = [3, 4, 5, *want.ids]
    monkeypatch.setattr(NgramDrafts, "draft", lambda drafts, ids, limit: row[len(ids) :][:limit])
    found, stream, polls = play(engine(), [sample_requests])
    same(found, [want])
    assert polls == 2 and stream.drafted_tokens == stream.accepted_tokens == 28


def test_alternatives_of_accepted_drafts_equal_those_of_plain_decoding():
    asked = [request._replace(top=count % 4) for count, request in enumerate(requests(24, seed=4))]
    drafting, plain = engine().stream(), engine(draft_tokens=0)
    tickets = [drafting.submit(request) for request in asked]
    found = {}
    while len(drafting):
        found |= dict(drafting.poll())
    assert 0 < drafting.accepted_tokens < drafting.drafted_tokens
    for request, ticket, wanted in zip(asked, tickets, plain.sample(asked), strict=True):
        assert len(found[ticket].top) == (len(wanted.ids) if request.top else 0)
        for one, other in zip(found[ticket].top, wanted.top, strict=True):
            assert one == [(token, pytest.approx(logp, abs=1e-9)) for token, logp in other]


def test_drafts_of_all_rows_stay_below_the_logit_limit(monkeypatch):
    monkeypatch.setattr("handaxe.engines.local.continuous_batching.MAX_DRAFT_LOGITS", 3 * VOCABULARY * 2)
    monkeypatch.setattr(NgramDrafts, "draft", lambda drafts, ids, limit: [5] * limit)
    running = engine().stream()
    for seed in range(3):
        running.submit(Sample([3, 4, seed], Sampling(max_tokens=30), seed, frozenset()))
    running.poll()
    assert running.drafted_tokens == 0
    running.poll()
    assert running.drafted_tokens == 3 * 2
    for ticket in (0, 1):
        running.interrupt(ticket)
    running.poll()
    assert running.drafted_tokens == 3 * 2 + 6


@pytest.mark.parametrize("max_rows", [2, 8])
def test_later_turns_reuse_keys_written_by_drafts(max_rows):
    """Trajectories of several turns equal those without drafts, and no token is read twice."""

    def turns(made):
        stream, rows, out = made.stream(), [[2, 3, 4, 5]] * 4, []
        for turn in range(3):
            tickets = [
                stream.submit(Sample(row, Sampling(max_tokens=25, temperature=0.004), 10 * turn + k, frozenset({8})))
                for k, row in enumerate(rows)
            ]
            done = {}
            while len(stream):
                done.update(stream.poll())
            out += [done[ticket] for ticket in tickets]
            rows = [[*row, *done[ticket].ids, 6, 7] for row, ticket in zip(rows, tickets)]
        return out, stream

    want, plain = turns(engine(0, max_rows=max_rows))
    found, stream = turns(engine(8, max_rows=max_rows))
    same(found, want)
    assert stream.accepted_tokens and stream.read_tokens == plain.read_tokens


def test_interrupted_turn_with_drafts_resumes_with_equal_tokens(monkeypatch):
    sample_requests = Sample([3, 4], Sampling(max_tokens=60), 3, frozenset())
    [want] = engine(0).sample([sample_requests])
    row = [3, 4, *want.ids]
    monkeypatch.setattr(NgramDrafts, "draft", lambda drafts, ids, limit: row[len(ids) :][: min(limit, 3)])
    stream, parts = engine().stream(), 0
    ticket = stream.submit(sample_requests)
    while True:
        done = [pair for _ in range(3) for pair in stream.poll()]
        if done:
            break
        part = stream.interrupt(ticket)
        assert list(part.ids) == list(want.ids)[: len(part.ids)]
        ticket, parts = stream.submit(sample_requests._replace(prefix=part)), parts + 1
    same([done[0][1]], [want])
    assert parts > 3 and stream.accepted_tokens > 3 * parts


def test_new_weights_during_a_turn_apply_to_later_tokens(monkeypatch):
    """Later tokens are sampled under the new weights, although the drafts come from the old weights."""
    sample_requests, outs = Sample([3, 4], Sampling(max_tokens=60), 3, frozenset()), []
    old = [3, 4, *engine(0).sample([sample_requests])[0].ids]
    monkeypatch.setattr(
        NgramDrafts, "draft", lambda drafts, ids, limit: old[len(ids) :][: min(limit, drafts.max_tokens)]
    )
    for draft_tokens in (0, 3):
        made = engine(draft_tokens)
        stream = made.stream()
        ticket = stream.submit(sample_requests)
        while made.version == 0:
            stream.poll()
            stream.poll()
            part = stream.interrupt(ticket)
            if len(part.ids) >= 30:
                part = Partial(*(list(values)[:30] for values in part))
                with torch.no_grad():
                    made.model.module.lm_head.weight.mul_(30)
                made.version = 1
            ticket = stream.submit(sample_requests._replace(prefix=part))
        done = {}
        while len(stream):
            done.update(stream.poll())
        outs.append(done[ticket])
        assert (stream.drafted_tokens > stream.accepted_tokens > 10) == (draft_tokens > 0)
    same(outs[1:], outs[:1])
    assert outs[0].version == [0] * 30 + [1] * 30
    assert list(outs[0].ids)[:30] == old[2:32] and list(outs[0].ids)[30:] != old[32:]
