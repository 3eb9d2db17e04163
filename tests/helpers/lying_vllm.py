"""A server process that alters its answers: `python -m helpers.lying_vllm CONFIG` prints the address.

POST /lie?name=NAME selects the alteration of all further answers; "" for none, "probe ..." for answers to probes only.
"""

import dataclasses
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

from starlette.responses import JSONResponse, Response

from handaxe.models.tiny import TinyConfig, TinyModel
from helpers.small_vllm import SmallVllm

HUGE = 3 * 10**8


def _each(choice, change):
    for entry in choice["logprobs"]["content"]:
        change(entry)


def _set_id(choice, number, value):
    entry = choice["logprobs"]["content"][number]
    entry["token_id"] = entry["top_logprobs"][0]["token_id"] = choice["token_ids"][number] = value


def _set_logp(choice, value):
    _each(choice, lambda entry: entry["top_logprobs"][2].update(logprob=value))


def _add_tokens(choice):
    count = len(choice["token_ids"])
    choice["token_ids"] *= 50
    choice["logprobs"]["content"] *= 50
    choice["weight_versions"] = [{**choice["weight_versions"][0], "start": 0, "end": 50 * count}]


LIES = {
    "id above the vocabulary": lambda choice: _set_id(choice, 1, 10**6),
    "last id above the vocabulary": lambda choice: _set_id(choice, -1, 10**6),
    "negative id": lambda choice: _set_id(choice, 1, -1),
    "fraction for an id": lambda choice: choice.update(token_ids=[i + 0.7 for i in choice["token_ids"]]),
    "text for an id": lambda choice: choice.update(token_ids=[str(i) for i in choice["token_ids"]]),
    "bool for an id": lambda choice: _set_id(choice, 0, True),
    "another id": lambda choice: choice["token_ids"].__setitem__(0, (choice["token_ids"][0] + 7) % 20),
    "more tokens": _add_tokens,
    "tokens after the stop id": lambda choice: _set_id(choice, 1, 19),
    "stop without a stop id": lambda choice: choice.update(finish_reason="stop"),
    "unknown finish reason": lambda choice: choice.update(finish_reason={"a": 1}),
    "log-prob above 0": lambda choice: _set_logp(choice, 0.9),
    "log-prob NaN": lambda choice: _set_logp(choice, float("nan")),
    "log-prob of non-finite logits": lambda choice: _set_logp(choice, -9999.0),
    "log-prob infinite": lambda choice: _set_logp(choice, -float("inf")),
    "log-prob of 400 digits": lambda choice: _set_logp(choice, -(10**400)),
    "log-prob as text": lambda choice: _set_logp(choice, "nan"),
    "no log-probs": lambda choice: choice.update(logprobs=None),
    "too few log-probs": lambda choice: choice["logprobs"]["content"].pop(),
    "log-probs of another token": lambda choice: _each(choice, lambda entry: entry.update(token_id=5)),
    "reversed log-probs": lambda choice: choice["logprobs"]["content"].reverse(),
    "tokens of another sampler": lambda choice: _each(choice, lambda entry: entry.update(logprob=-0.5)),
    "version span of 300 million tokens": lambda choice: choice["weight_versions"][-1].update(end=HUGE),
    "one version span of 300 million tokens": lambda choice: choice.update(
        weight_versions=[{"version": "1.0", "start": 0, "end": HUGE}]
    ),
    "version that was never sent": lambda choice: _each_span(choice, f"1.{HUGE}"),
    "version without a number": lambda choice: _each_span(choice, "latest"),
    "overlapping version spans": lambda choice: choice["weight_versions"][1].update(start=0),
    "tokens as an object": lambda choice: choice.update(token_ids={"a": 1}),
}
NESTED = "20,000 nested levels"
LONG = "answer of 64 MB"
TEXTS = {
    NESTED: b'{"choices":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    LONG: b'{"choices":[' + b" " * 2**26 + b"]}",
    "no JSON": b"<html>",
    "JSON list": b"[]",
}


def _each_span(choice, version):
    for span in choice["weight_versions"]:
        span["version"] = version


class LyingVllm(SmallVllm):
    """A small server with the alteration `lie`."""

    lie = ""

    async def _generate(self, body):
        answer = await super()._generate(body)
        lie = self.lie.removeprefix("probe ")
        of_probe = body["request_id"].startswith("probe")
        if not lie or of_probe != self.lie.startswith("probe "):
            return answer
        if lie in TEXTS:
            return Response(TEXTS[lie], media_type="application/json")
        content = json.loads(answer.body)
        LIES[lie](content["choices"][0])
        return Response(json.dumps(content), media_type="application/json")  # also NaN, which JSONResponse refuses

    def _control(self, path, query, body):
        if path == "/lie":
            self.lie = query["name"]
            return JSONResponse({})
        return super()._control(path, query, body)


class LyingProcess:
    """A process of a lying server; use as a context manager."""

    def __init__(self, config):
        words = [sys.executable, "-m", "helpers.lying_vllm", json.dumps(dataclasses.asdict(config))]
        path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
        )

    @functools.cached_property
    def url(self):
        return self._process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.stdin.close()  # ends the process
        self._process.wait(10)
        self._process.stdout.close()


if __name__ == "__main__":
    server = LyingVllm(TinyModel.new(TinyConfig(**json.loads(sys.argv[1])), seed=77), pace=0.001)
    print(server.url, flush=True)
    sys.stdin.read()
