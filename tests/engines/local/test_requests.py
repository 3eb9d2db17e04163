import math

import pytest

from handaxe.core.errors import InputError, TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.local.requests import begun, check_request, completed, finish, remaining_uniforms
from handaxe.engines.local.token_sampling import uniforms


def request(ids=(1, 2), seed=0, stop=(), header=(), before=None, **sampling):
    return Sample(list(ids), Sampling(**sampling), seed, frozenset(stop), frozenset(header), begun=before)


def part(ids):
    return Partial(list(ids), [-1.0] * len(ids), [-1.0] * len(ids), [0] * len(ids))


@pytest.mark.parametrize(
    "bad, words",
    [
        ({"ids": []}, "no ids"),
        ({"ids": [1] * 12}, "12 ids leave no room"),
        ({"ids": [1, 3]}, "outside"),
        ({"ids": [-1]}, "outside"),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": math.nan}, "temperature"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.1}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"seed": -1}, "seed"),
        ({"before": part([3])}, "outside"),
        ({"before": part([1, 1]), "max_tokens": 2}, "holds 2 tokens already and the turn may have 2"),
        ({"ids": [1] * 10, "before": part([1, 1])}, "holds 2 tokens already and the turn may have 2"),
        ({"before": part([1, 2]), "stop": [2]}, "ends with the id 2"),
        ({"before": part([1, 2])._replace(logp=[0.0])}, "parallel"),
    ],
)
def test_what_cannot_be_sampled_is_named(bigram, bad, words):
    check_request(0, request(), bigram())
    check_request(0, request(before=part([1]), stop=[2], max_tokens=2), bigram())
    with pytest.raises(InputError, match=f"request 5 cannot be sampled.*{words}"):
        check_request(5, request(**bad), bigram())


def test_the_uniform_numbers_go_on_where_the_turn_was_left():
    assert remaining_uniforms(request(seed=3, max_tokens=5), 99).tolist() == uniforms(3, 5).tolist()
    left = remaining_uniforms(request(seed=3, max_tokens=5, before=part([1, 1])), 99)
    assert left.tolist() == uniforms(3, 5)[2:].tolist()
    assert len(remaining_uniforms(request(max_tokens=5), 4)) == 2
    assert begun(request()) == part([])


def test_how_a_turn_ends():
    asked = request(stop=[1, 2], header=[2, 3])
    assert [finish(asked, last) for last in range(4)] == ["length", "stop", "stop", "header"]


def test_a_completion_holds_the_whole_turn_and_no_nan():
    done = completed(0, request(stop=[2]), part([1, 2]), 0.5)
    assert (done.ids, done.finish, done.seconds, done.version) == ([1, 2], "stop", 0.5, [0, 0])
    with pytest.raises(TrainingError, match="request 4.*not finite"):
        completed(4, request(), part([1])._replace(logp=[math.nan]), 0.5)
