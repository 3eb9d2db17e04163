"""A chat server that answers questions from a script: `with scripted("two verdicts") as server`."""

import contextlib
import json

from helpers.chat_server import ChatServer, reply

from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.transcript import Transcript

TOP = [("yes", -0.5), ("Yes", -2.0), ("no", -2.5), ("maybe", -3.0), ("y", -6.0)]
"""Alternatives of a first token: yes has exp(-0.5) + exp(-2), no exp(-2.5)."""


def with_top(top, *, content="", usage=(10, 1)):
    """Answer of one token with its alternatives, the first of them sampled."""
    status, body = reply(content or top[0][0], finish="length", usage=usage)
    others = [{"token": token, "logprob": logp, "bytes": list(token.encode())} for token, logp in top]
    body["choices"][0]["logprobs"] = {"content": [{**others[0], "top_logprobs": others}]}
    return status, body


def knows_top(body):
    """Answers with alternatives."""
    assert body["logprobs"] is True and body["top_logprobs"] == 20 and body["max_tokens"] == 1
    return with_top(TOP)


def ignores_top(body):
    """Knows no log-probs: leaves the fields of the request out of account."""
    return reply("yes", usage=(10, 1)) if body["max_tokens"] == 1 else reply("Yes.", usage=(10, 2))


def refuses_top(body):
    """Knows no log-probs: refuses them."""
    return (400, {"error": {"message": "unknown field logprobs"}}) if "logprobs" in body else reply("no", usage=(10, 1))


def odd_shape(field):
    """An answer with log-probs of another shape."""
    status, body = reply("yes")
    body["choices"][0]["logprobs"] = field
    return status, body


SCRIPTS = {
    "label with alternatives": [knows_top],
    "label as text": [ignores_top],
    "refused alternatives": [refuses_top],
    "two verdicts": [reply("yes and no")],
    "prose": [reply("Well, considering all of it, I cannot tell.")],
    "empty content": [reply("")],
    "no content": [reply(None)],
    "tool calls": [reply(None, [("verdict", '{"answer": "yes"}')], "tool_calls")],
    "truncated JSON": [(200, json.dumps(reply("yes")[1])[:60].encode())],
    "too many requests, then an answer": [(429, {}, {"retry-after": "0"}), knows_top],
    "too many requests": [(429, {"error": "slow down"}, {"retry-after": "0"})],
    "two failures, then an answer": [(500, {}), (500, {}), knows_top],
    "failures": [(500, {"error": "yes"})],
    "delay": ["hang"],
    "endless answer": ["drip"],
    "cut answer": ["cut"],
    "label outside the alternatives": [with_top([("yes", -0.01), ("Yes", -5.0), ("maybe", -9.0)])],
    "likely label outside the alternatives": [with_top([("yes", -1.5), ("maybe", -1.6), ("The", -1.7)])],
    "no label among the alternatives": [with_top([("The", -0.2), ("Well", -2.0)])],
    "megabyte": [reply("yes no " * 150_000)],
    "invalid UTF-8": [(200, b'{"choices": [{"message": {"content": "yes\xff\xfe"}}]}')],
    "list": [(200, [{"choices": [{"message": {"content": "yes"}}]}])],
    "no choices": [(200, {"choices": [], "answer": "yes"})],
    "content of another type": [(200, {"choices": [{"message": {"content": ["yes"]}}]})],
    "log-probs of another shape": [odd_shape({"content": [{"token": "yes", "top_logprobs": ["yes"]}]})],
    "probabilities above 1": [odd_shape({"content": [{"top_logprobs": [{"token": "yes", "logprob": 0.9}]}]})],
    "log-probs that are no numbers": [odd_shape({"content": [{"top_logprobs": [{"token": "yes", "logprob": None}]}]})],
    "context": [(400, {"error": {"message": "This model's maximum context length is 8192 tokens"}})],
    "content filter": [(400, {"error": {"message": "the prompt was filtered"}})],
}
"""Answers of a server by name; the last one repeats."""


def scripted(name):
    """A server with a script."""
    return ChatServer(*SCRIPTS[name])


QUICK = {"timeout": 0.3, "attempts": 1}
LABEL_FAILURES = {
    "two verdicts": "unreadable",
    "prose": "unreadable",
    "megabyte": "unreadable",
    "likely label outside the alternatives": "unreadable",
    "no label among the alternatives": "unreadable",
    "empty content": "refused",
    "no content": "refused",
    "tool calls": "refused",
    "content filter": "refused",
    "context": "too_long",
    "truncated JSON": "unavailable",
    "too many requests": "unavailable",
    "failures": "unavailable",
    "delay": "unavailable",
    "endless answer": "unavailable",
    "cut answer": "unavailable",
    "invalid UTF-8": "unavailable",
    "list": "unavailable",
    "no choices": "unavailable",
    "content of another type": "unavailable",
    "log-probs of another shape": "unavailable",
    "probabilities above 1": "unavailable",
    "log-probs that are no numbers": "unavailable",
}
"""Script -> failure of a question with labels."""


def options_of(name):
    """Options of the engine for a script."""
    return QUICK if name in ("delay", "endless answer", "cut answer") else {}


@contextlib.contextmanager
def served(server, **options):
    """An answerer of a scripted server."""
    options = {"attempts": 3, "timeout": 20.0, "backoff": 0.001, **options}
    chat = Transcript()
    with server:
        engine = OpenAICompatible(server.url, model="m", format=chat, **options)
        try:
            yield PolicyAnswerer(engine, chat, name="served")
        finally:
            engine.close()
