"""Turns go where their prefix lies, unless others have much less to do."""

from handaxe.engines.vllm import prefix_router as vllm_places
from handaxe.engines.vllm.prefix_router import AHEAD, BLOCK, PrefixRouter

PROMPT = list(range(3 * BLOCK))


def test_example():
    places = PrefixRouter()
    assert places.choose(PROMPT, {0: 1, 1: 0}) == 1, "no server has it: the idlest"
    places.learn(PROMPT, 0)
    assert places.choose([*PROMPT, 7, 8], {0: 1, 1: 0}) == 0
    assert places.choose([99, *PROMPT], {0: 1, 1: 0}) == 1, "the same ids at other places are no prefix"
    assert places.choose(PROMPT[: BLOCK - 1], {0: 1, 1: 0}) == 1, "less than a block is not remembered"


def test_of_two_the_one_that_has_more_is_taken():
    places = PrefixRouter()
    places.learn(PROMPT, 0)
    places.learn([*PROMPT[:BLOCK], *[5] * BLOCK], 1)
    assert places.choose([*PROMPT[:BLOCK], *[5] * BLOCK, 1], {0: 0, 1: 0}) == 1
    assert places.choose(PROMPT, {0: 0, 1: 0}) == 0


def test_an_overloaded_server_is_passed_over():
    places = PrefixRouter()
    places.learn(PROMPT, 0)
    assert places.choose(PROMPT, {0: AHEAD, 1: 0}) == 0
    assert places.choose(PROMPT, {0: AHEAD + 1, 1: 0}) == 1


def test_a_server_that_is_not_there_is_never_chosen():
    places = PrefixRouter()
    places.learn(PROMPT, 0)
    assert places.choose(PROMPT, {1: 5}) == 1


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(vllm_places, "KEPT", 4)
    places = PrefixRouter()
    places.learn(PROMPT, 0)
    places.learn([7] * 2 * BLOCK, 1)
    assert places.choose(PROMPT[:BLOCK], {0: 1, 1: 0}) == 1, "the oldest block is forgotten"
    assert places.choose([7] * 2 * BLOCK, {0: 0, 1: 1}) == 1
    places.forget()
    assert places.choose([7] * 2 * BLOCK, {0: 0, 1: 1}) == 0
