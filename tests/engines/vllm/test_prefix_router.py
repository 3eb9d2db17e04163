"""Requests go to the server with their prefix, unless it is overloaded."""

from handaxe.engines.vllm import prefix_router
from handaxe.engines.vllm.prefix_router import BLOCK, MAX_IMBALANCE, UNIT, PrefixRouter, request_load

PROMPT = list(range(3 * BLOCK))


def test_choose_prefers_the_server_with_the_prefix():
    router = PrefixRouter()
    assert router.choose(PROMPT, {0: 1, 1: 0}) == 1, "without a known prefix: the least loaded server"
    router.learn(PROMPT, 0)
    assert router.choose([*PROMPT, 7, 8], {0: 1, 1: 0}) == 0
    assert router.choose([99, *PROMPT], {0: 1, 1: 0}) == 1, "equal ids at other positions are no prefix"
    assert router.choose(PROMPT[: BLOCK - 1], {0: 1, 1: 0}) == 1, "prefixes below a block are not remembered"


def test_longer_prefix_wins():
    router = PrefixRouter()
    router.learn(PROMPT, 0)
    router.learn([*PROMPT[:BLOCK], *[5] * BLOCK], 1)
    assert router.choose([*PROMPT[:BLOCK], *[5] * BLOCK, 1], {0: 0, 1: 0}) == 1
    assert router.choose(PROMPT, {0: 0, 1: 0}) == 0


def test_overloaded_server_is_skipped():
    router = PrefixRouter()
    router.learn(PROMPT, 0)
    most = MAX_IMBALANCE * request_load(PROMPT)
    assert router.choose(PROMPT, {0: most, 1: 0}) == 0
    assert router.choose(PROMPT, {0: most + 1, 1: 0}) == 1


def test_siblings_with_a_long_prompt_stay_together_like_those_with_a_short_one():
    for length in (2 * BLOCK, 2000 * BLOCK):
        router, prompt = PrefixRouter(), list(range(length))
        loads, chosen = {0: 0, 1: 0}, []
        for _ in range(10):
            chosen.append(router.choose(prompt, loads))
            router.learn(prompt, chosen[-1])
            loads[chosen[-1]] += request_load(prompt)
        assert chosen == [0] * 9 + [1]


def test_requests_are_balanced_by_their_lengths():
    """Loads of 6, 5, 4 and 4 units (a unit a request, and 5, 4, 3 and 3 of tokens): 6 | 5, 6 | 5 + 4, 6 + 4 | 9."""
    router, chosen = PrefixRouter(), []
    loads = {0: 0, 1: 0}
    for number, length in enumerate((5, 4, 3, 3)):
        ids = [number] * length * UNIT
        chosen.append(router.choose(ids, loads))
        loads[chosen[-1]] += request_load(ids)
    assert chosen == [0, 1, 1, 0] and loads == {0: 10 * UNIT, 1: 9 * UNIT}


def test_unavailable_server_is_never_chosen():
    router = PrefixRouter()
    router.learn(PROMPT, 0)
    assert router.choose(PROMPT, {1: 5}) == 1


def test_number_of_blocks_is_bounded(monkeypatch):
    monkeypatch.setattr(prefix_router, "MAX_BLOCKS", 4)
    router = PrefixRouter()
    router.learn(PROMPT, 0)
    router.learn([7] * 2 * BLOCK, 1)
    assert router.choose(PROMPT[:BLOCK], {0: 1, 1: 0}) == 1, "the oldest block is dropped"
    assert router.choose([7] * 2 * BLOCK, {0: 0, 1: 1}) == 1
    router.clear()
    assert router.choose([7] * 2 * BLOCK, {0: 0, 1: 1}) == 0
