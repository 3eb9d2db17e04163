import math

import pytest

from handaxe.core.errors import InputError, SamplingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.sample_requests import (
    check_request,
    finish_reason,
    make_completion,
    partial_turn,
    remaining_uniforms,
)
from handaxe.engines.local.token_sampling import uniforms


def request(ids=(1, 2), seed=0, stop=(), header=(), partial=None, **sampling):
    return Sample(list(ids), Sampling(**sampling), seed, frozenset(stop), frozenset(header), prefix=partial)


def part(ids):
    return Partial(list(ids), [-1.0] * len(ids), [-1.0] * len(ids), [0] * len(ids))


@pytest.mark.parametrize(
    "invalid, words",
    [
        ({"ids": []}, "no ids"),
        ({"ids": [1] * 12}, "12 ids leave no room"),
        ({"ids": [1, 3]}, "outside"),
        ({"ids": [-1]}, "outside"),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"temperature": 1e-308}, "temperature is 1e-308; give 0 .greedy., or 1e-30 or more"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"seed": -1}, "seed"),
        ({"partial": part([3])}, "outside"),
        ({"partial": part([1, 1]), "max_tokens": 2}, "holds 2 tokens and the turn may have 2"),
        ({"ids": [1] * 10, "partial": part([1, 1])}, "holds 2 tokens and the turn may have 2"),
        ({"partial": part([1, 2]), "stop": [2]}, "ends with the id 2"),
        ({"partial": part([1, 2])._replace(logp=[0.0])}, "parallel"),
    ],
)
def test_check_request_names_the_problem(bigram, invalid, words):
    check_request(0, request(), bigram())
    check_request(0, request(partial=part([1]), stop=[2], max_tokens=2), bigram())
    with pytest.raises(InputError, match=f"request 5 cannot be sampled.*{words}"):
        check_request(5, request(**invalid), bigram())


def test_remaining_uniforms_skip_the_partial_turn():
    assert remaining_uniforms(request(seed=3, max_tokens=5), 99).tolist() == uniforms(3, 5).tolist()
    remaining = remaining_uniforms(request(seed=3, max_tokens=5, partial=part([1, 1])), 99)
    assert remaining.tolist() == uniforms(3, 5)[2:].tolist()
    assert len(remaining_uniforms(request(max_tokens=5), 4)) == 2
    assert partial_turn(request()) == part([])


def test_finish_reason_of_stop_and_header_ids():
    sample = request(stop=[1, 2], header=[2, 3])
    assert [finish_reason(sample, last) for last in range(4)] == ["length", "stop", "stop", "header"]


def test_completion_holds_the_whole_turn_and_refuses_nan():
    done = make_completion(0, request(stop=[2]), part([1, 2]), 0.5)
    assert (done.ids, done.finish, done.seconds, done.version) == ([1, 2], "stop", 0.5, [0, 0])
    with pytest.raises(SamplingError, match="request 4.*not finite") as raised:
        make_completion(4, request(), part([1])._replace(logp=[math.nan]), 0.5)
    assert raised.value.ticket == 4
