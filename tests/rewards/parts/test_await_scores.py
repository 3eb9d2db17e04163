"""Async rewards against a real HTTP server that answers only once N requests are waiting."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import numpy as np
import pytest

from handaxe import rewards
from handaxe.core.errors import InfrastructureError, InputError, TaskError, VerifierError
from handaxe.core.records import Scores
from handaxe.rewards.parts.await_scores import call_scores
from handaxe.rewards.parts.scoring import score_group
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.tools.background_loop import shared_loop


class JudgeServer:
    """Answers with the length of the text, once `together` requests are waiting.

    Attributes:
        most: largest number of requests at the same time.
    """

    def __init__(self, together):
        self.most = self.running = 0
        barrier, lock, judge = threading.Barrier(together), threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_POST(self):
                text = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with lock:
                    judge.running += 1
                    judge.most = max(judge.most, judge.running)
                try:
                    barrier.wait(30)
                    status = 200
                except threading.BrokenBarrierError:
                    status = 503
                with lock:
                    judge.running -= 1
                data = json.dumps(len(text)).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def judge_server():
    made = []

    def start(together):
        made.append(JudgeServer(together))
        return made[-1]

    yield start
    for server in made:
        server.close()


@pytest.fixture
def client():
    """A client on the event loop of async rewards."""
    client = httpx.AsyncClient()
    yield client
    shared_loop().wait(client.aclose())


def judge(server, client):
    async def length(trajectory):
        answer = await client.post(server.url, json=trajectory.final_text, timeout=40.0)
        return answer.raise_for_status().json()

    return length


def with_texts(*texts):
    return make_group(trajectories=[make_trajectory(texts=[text]) for text in texts])


TEXTS = ["a" * k for k in range(6)]


def test_requests_of_a_group_wait_at_the_server_together(judge_server, client):
    server = judge_server(6)
    reward = rewards.outcome(judge(server, client))
    for _ in range(2):  # the client's connections are used again
        assert reward(with_texts(*TEXTS)).outcome.tolist() == [0, 1, 2, 3, 4, 5]
    assert server.most == 6


def test_concurrency_bounds_the_requests(judge_server, client):
    server = judge_server(3)
    reward = rewards.outcome(judge(server, client), concurrency=3)
    assert reward(with_texts(*TEXTS)).outcome.tolist() == [0, 1, 2, 3, 4, 5]
    assert server.most == 3
    with pytest.raises(InputError, match="concurrency is 0"):
        rewards.outcome(judge(server, None), concurrency=0)(with_texts("a"))


def test_per_turn_awaits_coroutine_functions(judge_server, client):
    length = judge(judge_server(2), client)

    async def lengths(trajectory):
        return [await length(trajectory)]

    scores = rewards.per_turn(lengths)(with_texts("a", "bb"))
    assert [turn.tolist() for turn in scores.turns] == [[1], [2]]


async def fails_on_b(trajectory, error=ZeroDivisionError("mine")):
    await asyncio.sleep(0)
    if trajectory.final_text == "b":
        raise error
    return 1.0


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), TimeoutError("mine"), InfrastructureError("mine")])
def test_error_of_a_coroutine_leaves_the_sibling_unscored(error):
    async def score(trajectory):
        return await fails_on_b(trajectory, error)

    def score_now(trajectory):
        return asyncio.run(score(trajectory))

    for function in (score, score_now):  # asynchronous and synchronous rewards agree
        group, scores = score_group(rewards.outcome(function), with_texts("a", "b", "c"))
        assert [one.ending.kind for one in group] == ["completed", "verifier_error", "completed"]
        assert f"{type(error).__name__}: mine" in group[1].ending.reason
        assert np.array_equal(scores.outcome, [1, np.nan, 1], equal_nan=True)


def test_passed_deadline_of_a_coroutine_leaves_the_sibling_unscored():
    async def score(trajectory):
        async with asyncio.timeout(None if trajectory.final_text == "a" else 0.01):
            await asyncio.sleep(0 if trajectory.final_text == "a" else 600)
        return 1.0

    group, scores = score_group(rewards.outcome(score), with_texts("a", "b"))
    assert [one.ending.kind for one in group] == ["completed", "verifier_error"]
    assert np.array_equal(scores.outcome, [1, np.nan], equal_nan=True)


@pytest.mark.parametrize("value", [None, float("nan"), "1"])
def test_coroutine_without_a_number_names_the_trajectory(value):
    async def score(trajectory):
        return value

    group = with_texts("a", "b")
    with pytest.raises(VerifierError, match=group[0].id):
        rewards.outcome(score)(group)


def test_task_error_of_a_coroutine_passes_through():
    async def score(trajectory):
        return await fails_on_b(trajectory, TaskError("no answer"))

    with pytest.raises(TaskError, match="no answer"):
        rewards.outcome(score)(with_texts("a", "b"))


def test_cancelled_coroutine_raises_a_verifier_error():
    async def score(trajectory):
        raise asyncio.CancelledError

    with pytest.raises(VerifierError, match="was cancelled"):
        rewards.outcome(score)(with_texts("a"))


def test_function_that_returns_coroutines_is_awaited():
    group = with_texts("a", "b")
    assert call_scores(lambda trajectory: fails_on_b(trajectory, None), with_texts("a"), concurrency=1) == [1.0]

    def fails_later(trajectory):
        return fails_on_b(trajectory) if trajectory.final_text == "a" else 1 / 0

    with pytest.raises(VerifierError, match="ZeroDivisionError"):
        call_scores(fails_later, group, concurrency=1)


async def of_group(group):
    values = await asyncio.gather(*map(fails_on_b, group))
    return Scores(np.array(values))


def test_reward_of_a_group_may_be_a_coroutine_function():
    _, scores = score_group(of_group, with_texts("a", "c"))
    assert scores.outcome.tolist() == [1, 1]
    combined = rewards.weighted({"judge": (2.0, of_group), "exact": (1.0, rewards.outcome(lambda one: 0.5))})
    _, scores = score_group(combined, with_texts("a", "c"))
    assert scores.outcome.tolist() == [2.5, 2.5]


def test_async_reward_without_outcome_names_the_decorator():
    async def score(trajectory):
        return float(trajectory.final_text == "a")

    with pytest.raises(InputError, match="write @outcome above"):
        score_group(score, with_texts("a"))
