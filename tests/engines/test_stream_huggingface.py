"""Drafts in a stream: they change how many forwards it takes, and nothing that is sampled."""

import random

import pytest
import torch

from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.drafts import Drafts
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.huggingface import HuggingFaceModel

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
VOCABULARY, LONGEST = 19, 90


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
        max_position_embeddings=LONGEST,
    )
    torch.manual_seed(0)
    module = transformers.LlamaForCausalLM(config).double()
    return LocalEngine(HuggingFaceModel(module, tokenizer), draft_tokens=draft_tokens, **options)


def requests(count, seed=0):
    """Prompts that repeat themselves, cold and hot, some with room for one token only, some that reach the context's
    end, some that end at a token."""
    rng, out = random.Random(seed), []
    for number in range(count):
        ids = rng.choices(range(VOCABULARY), k=rng.choice([1, 2, 5])) * rng.choice([1, 4])
        sampling = Sampling(
            temperature=rng.choice([0.0, 0.02, 0.05, 1.0]),
            top_p=rng.choice([1.0, 0.9]),
            max_tokens=rng.choice([1, 2, 40, LONGEST]),
        )
        out.append(Sample(ids, sampling, number, frozenset(rng.sample(range(VOCABULARY), rng.choice([0, 2])))))
    return out


def same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        assert (list(one.ids), one.finish, one.version) == (list(other.ids), other.finish, other.version)
        assert one.logp == pytest.approx(other.logp, abs=1e-9)
        assert one.behaviour_logp == pytest.approx(other.behaviour_logp, abs=1e-9)


def play(made, asked):
    """All completions in order, the stream, and how often it was polled."""
    stream, done, polls = made.stream(), {}, 0
    for request in asked:
        stream.submit(request)
    while len(stream):
        done.update(stream.poll())
        polls += 1
    return [done[ticket] for ticket in range(len(asked))], stream, polls


@pytest.mark.parametrize("max_rows", [1, 5, 64])
def test_the_same_is_sampled_in_fewer_forwards(max_rows):
    asked = requests(40)
    want, plain, more = play(engine(0, max_rows=max_rows), asked)
    found, stream, fewer = play(engine(8, max_rows=max_rows), asked)
    same(found, want)
    assert fewer < more and plain.drafted_tokens == plain.accepted_tokens == 0
    assert 0 < stream.accepted_tokens < stream.drafted_tokens
    assert stream.read_tokens == plain.read_tokens and stream.reused_tokens == plain.reused_tokens
    if max_rows == 1:
        sampled = sum(len(each.ids) for each in want)
        assert (more, fewer) == (sampled, sampled - stream.accepted_tokens)


@pytest.mark.parametrize("longest", [1, 3, 20])
def test_wrong_drafts_do_no_harm(monkeypatch, longest):
    rng, asked = random.Random(longest), requests(30, seed=1)
    want = engine(0).sample(asked)

    def anything(drafts, ids, most):
        return rng.choices(range(VOCABULARY), k=rng.randint(0, max(0, min(most, longest))))

    monkeypatch.setattr(Drafts, "draft", anything)
    found, stream, _ = play(engine(8, max_rows=7), asked)
    same(found, want)
    assert stream.drafted_tokens > stream.accepted_tokens


def test_right_drafts_bring_all_tokens_at_once(monkeypatch):
    asked = Sample([3, 4, 5], Sampling(max_tokens=30), 7, frozenset())
    [want] = engine(0).sample([asked])
    row = [3, 4, 5, *want.ids]
    monkeypatch.setattr(Drafts, "draft", lambda drafts, ids, most: row[len(ids) :][:most])
    found, stream, polls = play(engine(), [asked])
    same(found, [want])
    assert polls == 2 and stream.drafted_tokens == stream.accepted_tokens == 28


def test_all_rows_together_draft_no_more_logits_than_fit(monkeypatch):
    monkeypatch.setattr("handaxe.engines.local.stream.DRAFTED", 3 * VOCABULARY * 2)
    monkeypatch.setattr(Drafts, "draft", lambda drafts, ids, most: [5] * most)
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
def test_later_turns_and_siblings_go_on_from_keys_that_drafts_left(max_rows):
    """Histories of several turns: as without drafts, and nothing is read twice."""

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


def test_a_turn_that_was_interrupted_goes_on_where_it_was(monkeypatch):
    asked = Sample([3, 4], Sampling(max_tokens=60), 3, frozenset())
    [want] = engine(0).sample([asked])
    row = [3, 4, *want.ids]
    monkeypatch.setattr(Drafts, "draft", lambda drafts, ids, most: row[len(ids) :][: min(most, 3)])
    stream, parts = engine().stream(), 0
    ticket = stream.submit(asked)
    while True:
        done = [pair for _ in range(3) for pair in stream.poll()]
        if done:
            break
        part = stream.interrupt(ticket)
        assert list(part.ids) == list(want.ids)[: len(part.ids)]
        ticket, parts = stream.submit(asked._replace(begun=part)), parts + 1
    same([done[0][1]], [want])
    assert parts > 3 and stream.accepted_tokens > 3 * parts


def test_new_weights_meanwhile(monkeypatch):
    """What is drawn afterwards is drawn with the new weights, though the drafts are what the old ones would say."""
    asked, outs = Sample([3, 4], Sampling(max_tokens=60), 3, frozenset()), []
    old = [3, 4, *engine(0).sample([asked])[0].ids]
    monkeypatch.setattr(Drafts, "draft", lambda drafts, ids, most: old[len(ids) :][: min(most, drafts.most)])
    for draft_tokens in (0, 3):
        made = engine(draft_tokens)
        stream = made.stream()
        ticket = stream.submit(asked)
        while made.version == 0:
            stream.poll()
            stream.poll()
            part = stream.interrupt(ticket)
            if len(part.ids) >= 30:
                part = Partial(*(list(values)[:30] for values in part))
                with torch.no_grad():
                    made.model.module.lm_head.weight.mul_(30)
                made.version = 1
            ticket = stream.submit(asked._replace(begun=part))
        done = {}
        while len(stream):
            done.update(stream.poll())
        outs.append(done[ticket])
        assert (stream.drafted_tokens > stream.accepted_tokens > 10) == (draft_tokens > 0)
    same(outs[1:], outs[:1])
    assert outs[0].version == [0] * 30 + [1] * 30
    assert list(outs[0].ids)[:30] == old[2:32] and list(outs[0].ids)[30:] != old[32:]
