import math

import pytest
import torch

from handaxe.core.errors import TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.generate import generate

CPU = torch.device("cpu")


def run(model, requests, max_rows=256):
    model.module.eval()
    done = generate(model, dict(enumerate(requests)), version=4, max_rows=max_rows, device=CPU)
    assert [ticket for ticket, _ in done] == list(range(len(requests)))
    return [completion for _, completion in done]


def request(ids=(1, 2), seed=0, stop=(), header=(), **sampling):
    return Sample(list(ids), Sampling(**sampling), seed, frozenset(stop), frozenset(header))


def plain(done):
    return done.ids, done.finish, done.version


def test_log_probs_match_a_known_table(bigram):
    table = bigram().module.table.log_softmax(-1)
    for done in run(bigram(), [request(seed=seed, max_tokens=6) for seed in range(4)]):
        path = [2, *done.ids]
        assert done.logp == pytest.approx([table[a, b].item() for a, b in zip(path, path[1:])], abs=1e-12)
        assert done.behaviour_logp == done.logp and done.version == [4] * 6


def test_alternatives_match_a_known_table(bigram):
    table = bigram().module.table.log_softmax(-1)
    rows = [request(seed=seed, max_tokens=2 + seed)._replace(top=seed) for seed in range(4)]
    for row, done in zip(rows, run(bigram(), rows, max_rows=3), strict=True):
        assert done == run(bigram(), [row._replace(top=0)])[0]._replace(top=done.top, seconds=done.seconds)
        wanted = [[(b, table[a, b].item()) for b in table[a].argsort(descending=True).tolist()] for a in [2, *done.ids]]
        assert len(done.top) == (len(done.ids) if row.top else 0)
        for top, one in zip(done.top, wanted):
            assert top == [(token, pytest.approx(logp, abs=1e-12)) for token, logp in one[: row.top]]


def test_sample_frequencies_match_the_distribution(bigram):
    first = [done.ids[0] for done in run(bigram(), [request([0], seed, max_tokens=1) for seed in range(3000)])]
    share = [first.count(v) / 3000 for v in range(3)]
    assert all(abs(s - p) < 4 * math.sqrt(p * (1 - p) / 3000) for s, p in zip(share, (0.5, 0.3, 0.2)))


@pytest.mark.parametrize("max_rows", [1, 2, 3, 5])
def test_completions_do_not_depend_on_max_rows(learned, max_rows):
    prompts = [[1], [2, 3, 4], [1], [5, 6], [1, 7, 2, 2], [1]]
    requests = [request(ids, seed, stop=[3], header=[9], max_tokens=9) for seed, ids in enumerate(prompts)]
    requests[1] = requests[1]._replace(sampling=Sampling(0.7, 0.8, 5, 4))
    whole, parts = run(learned(), requests), run(learned(), requests, max_rows)
    assert [plain(d) for d in whole] == [plain(d) for d in parts]
    for a, b in zip(whole, parts):
        assert a.logp == pytest.approx(b.logp, abs=1e-12)
    assert {d.finish for d in whole} == {"stop", "header", "length"}  # else this test shows little


def test_shared_prompt_is_read_once(learned):
    model = learned()
    run(model, [request([1, 2], seed, max_tokens=1) for seed in range(8)] + [request([4], max_tokens=1)])
    assert model.rows_read == [2]


def test_ended_rows_leave_the_cache(learned):
    model, long = learned(), 12
    short = [request([1, 2], seed, max_tokens=2) for seed in range(9)]
    alone = run(learned(), [request([3], 77, max_tokens=long)])
    done = run(model, [*short, request([3], 77, max_tokens=long)])
    assert plain(done[-1]) == plain(alone[0]) and len(done[-1].ids) == long
    assert model.rows_read == [2, 10] + [1] * (long - 2)


def test_row_with_full_context_leaves_the_cache_at_once(learned):
    model = learned()  # its decode has no position 16
    full = [request(range(10), seed, max_tokens=50) for seed in range(2)] + [request([4] * 14, max_tokens=50)]
    done = run(model, full)
    assert [(len(d.ids), d.finish) for d in done] == [(6, "length"), (6, "length"), (2, "length")]


def test_stop_takes_precedence_over_header_and_length(bigram):
    ids = run(bigram(), [request(seed=5, max_tokens=3)])[0].ids
    assert run(bigram(), [request(seed=5, max_tokens=3, stop=ids, header=ids)])[0].finish == "stop"
    assert run(bigram(), [request(seed=5, max_tokens=1, header=ids[:1])])[0].finish == "header"
    far = run(bigram(), [request(seed=5, max_tokens=3, stop=[-1, 10**6])])[0]
    assert (far.ids, far.finish) == (ids, "length")


def test_seconds_grow_with_the_number_of_tokens(learned):
    short, long = run(learned(), [request(max_tokens=1), request(max_tokens=9)])
    assert 0 < short.seconds < long.seconds


def test_completions_hold_python_numbers(learned):
    done = run(learned(), [request(max_tokens=2)])[0]
    assert all(type(x) is int for x in done.ids + done.version)
    assert all(type(x) is float for x in done.logp + done.behaviour_logp)


def test_nan_weights_raise_training_error(bigram):
    model = bigram()
    model.module.table.data[2] = math.nan
    with pytest.raises(TrainingError, match="request 0.*not finite"):
        run(model, [request(max_tokens=2)])


def test_no_requests_give_no_completions(bigram):
    assert run(bigram(), []) == []


def test_partial_turn_resumes_with_equal_tokens(learned):
    turn_requests = [request([1, 2], seed, max_tokens=7) for seed in range(4)]
    whole = run(learned(), turn_requests)
    parts = [Partial(d.ids[:n], d.logp[:n], d.behaviour_logp[:n], [1] * n) for n, d in enumerate(whole)]
    done = run(learned(), [r._replace(prefix=part) for r, part in zip(turn_requests, parts)])
    assert [d.ids for d in done] == [d.ids for d in whole]
    assert [d.version for d in done] == [[1] * n + [4] * (7 - n) for n in range(4)]
