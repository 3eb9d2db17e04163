"""Alternatives of one token are requested first; the label is written where a server has none."""

import contextlib
import threading

import pytest
from helpers import chat_server as chat

from handaxe.core.errors import InfrastructureError
from handaxe.engines.openai.chat_http import ChatHttp, RefusedError
from handaxe.engines.openai.label_requests import LabelRequests

YES_NO = {"yes": ("yes",), "no": ("no",)}
BODY = {"model": "m", "temperature": 0.0, "max_tokens": 16}


def labelled(body):
    """An answer with the alternatives yes and no."""
    status, answer = chat.reply("yes", usage=(10, 1), finish="length")
    top = [{"token": "yes", "logprob": -0.5}, {"token": "no", "logprob": -1.5}]
    answer["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    return status, answer


@contextlib.contextmanager
def asking(*answers):
    """Labels of a scripted server, and the server."""
    with chat.ChatServer(*answers) as server:
        url = f"{server.url}/chat/completions"
        http = ChatHttp(url, key="", headers={}, timeout=20.0, attempts=2, backoff=0.001)
        yield LabelRequests(http, "max_tokens"), server
        http.close()


def test_alternatives_take_one_request():
    with asking(labelled) as (requests, server):
        found = requests.ask(BODY, YES_NO)
    assert found.logp == {"yes": pytest.approx(-0.5), "no": pytest.approx(-1.5)} and (found.read, found.written) == (
        10,
        1,
    )
    assert server.bodies == [
        {"model": "m", "temperature": 1.0, "top_p": 1.0, "max_tokens": 1, "logprobs": True, "top_logprobs": 20}
    ]


def test_written_label_counts_the_tokens_of_both_requests():
    with asking(chat.reply("yes", usage=(10, 1)), chat.reply("no", usage=(10, 3))) as (requests, server):
        first, second = requests.ask(BODY, YES_NO), requests.ask(BODY, YES_NO)
    assert (first.text, first.logp, first.failure, first.read, first.written) == ("no", {}, "", 20, 4)
    assert (second.text, second.read, second.written) == ("no", 10, 3)
    assert [body["max_tokens"] for body in server.bodies] == [1, 16, 16]


def test_one_refused_or_empty_question_does_not_end_requests_for_alternatives():
    def answer(body):
        if body["model"] == "bad":
            return 400, {"error": "filtered"}
        return chat.reply("") if body["model"] == "empty" else labelled(body)

    with asking(answer) as (requests, _):
        found = [requests.ask({**BODY, "model": text}, YES_NO) for text in ("bad", "empty", "fine")]
    assert [one.failure for one in found] == ["refused", "refused", ""] and found[2].logp
    assert "filtered" in found[0].text


def test_conversation_above_the_context_is_asked_once():
    error = {"error": {"message": "This model's maximum context length is 8192 tokens"}}
    with asking((400, error)) as (requests, server):
        assert requests.ask(BODY, YES_NO).failure == "too_long"
    assert len(server.bodies) == 1


def test_refused_key_and_failed_server_raise():
    for answer, error in (((401, {}), RefusedError), ((500, {}), InfrastructureError)):
        with asking(answer) as (requests, _), pytest.raises(error):
            requests.ask(BODY, YES_NO)


def test_threads_that_find_out_together_all_get_a_label():
    met = threading.Barrier(4)

    def answer(body):
        if "logprobs" in body:
            met.wait(20)
        return chat.reply("no")

    with asking(answer) as (requests, server):
        found = []
        threads = [threading.Thread(target=lambda: found.append(requests.ask(BODY, YES_NO))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert requests.ask(BODY, YES_NO).text == "no"
    assert [one.text for one in found] == ["no"] * 4 and len(server.bodies) == 9
