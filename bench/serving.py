"""Measures how long one hostile request delays the requests of another client of `handaxe serve --model`.

A client sends short requests, one after another, while a second client sends one body: up to the largest that the
server accepts, drawn from families of bodies that are expensive to parse, to render or to sample. Each wait beside a
body is compared with waits without one, measured just before. The delay by a body is the least of three repeats, since
other programs of the machine only add to it. Writes milliseconds by body, and the worst body.
"""

import argparse
import http.client
import json
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

SERVER = [sys.executable, "-c", "import sys; from handaxe.cli import main; sys.exit(main())", "serve", "--model"]
QUESTION = {"role": "user", "content": "1+1"}
SHORT = {"messages": [QUESTION], "max_tokens": 1, "temperature": 0}
REPEATS = 3
LARGEST = 210_000
"""Bytes just below the server's limit for the tiny policy."""


def user(text):
    return {"role": "user", "content": text}


def turns(rng, size, known):
    """Thousands of turns after a turn that the server has sampled."""
    pair = [user("b"), {"role": "assistant", "content": rng.choice(["c", known["content"] or "c"])}]
    return {"messages": [user("hi"), known, *pair * (size // 75), user("z")], "max_tokens": 2}


def text(rng, size, known):
    return {"messages": [user(rng.choice(["a", "\u00e9", "<|im_end|>", "[", " "]) * (size // 12))], "max_tokens": 2}


def messages(rng, size, known):
    return {"messages": [user("a"), {"role": "tool", "content": "b"}] * (size // 70), "max_tokens": 2}


def brackets(rng, size, known):
    return {**SHORT, "metadata": rng.choice([[[]], [0], [{"a": 0}], ["a"]]) * (size // 10)}


def keys(rng, size, known):
    return {**SHORT, "metadata": {str(k): k for k in range(size // 16)}}


def tools(rng, size, known):
    return {
        **SHORT,
        "tools": [
            {"function": {"name": f"f{k}", "description": "d" * rng.choice([1, 200])}} for k in range(size // 250)
        ],
    }


def arguments(rng, size, known):
    call = {"id": "1", "function": {"name": "f", "arguments": json.dumps({"a": [0] * (size // 4)})}}
    turn = {"role": "assistant", "tool_calls": [call]}
    return {"messages": [QUESTION, turn, {"role": "tool", "tool_call_id": "1", "content": "x"}], "max_tokens": 2}


def stops(rng, size, known):
    return {**SHORT, "max_tokens": 200, "temperature": 3.0, "stop": ["x" * (size // 16)] * 16}


def choices(rng, size, known):
    return {**SHORT, "max_tokens": 40, "temperature": 3.0, "n": 16, "logprobs": True}


def oversized(rng, size, known):
    return {"messages": [user("a" * rng.randrange(1_000_000, 8_000_000))]}


FAMILIES = (turns, text, messages, brackets, keys, tools, arguments, stops, choices, oversized)


def send(connection, body):
    """Send a body; returns status and response."""
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def health(connection, body):
    """Send a request without sampling; returns status and response."""
    del body
    connection.request("GET", "/health")
    answer = connection.getresponse()
    return answer.status, answer.read()


PROBES = {"chat": send, "health": health}


def waits(port, until, probe):
    """Milliseconds of short requests, one after another, until `until()` holds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    body, found = json.dumps(SHORT).encode(), []
    while not until() or not found:
        begin = time.perf_counter()
        status, _ = PROBES[probe](connection, body)
        found.append(1000 * (time.perf_counter() - begin))
        assert status == 200, status
    connection.close()
    return found


def measure(port, body, probe):
    """Waits without and beside a body."""
    deadline = time.monotonic() + 0.5
    alone = waits(port, lambda: time.monotonic() > deadline, probe)
    status = []

    def attack():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        status.append(send(connection, body)[0])
        connection.close()

    thread = threading.Thread(target=attack)
    thread.start()
    begin = time.monotonic()
    beside = waits(port, lambda: not thread.is_alive(), probe)
    seconds = time.monotonic() - begin
    thread.join()
    return {
        "bytes": len(body),
        "status": status[0],
        "seconds": seconds,
        "alone_ms": statistics.median(alone),
        "alone_worst_ms": max(alone),
        "beside_worst_ms": max(beside),
        "delay_ms": max(beside) - statistics.median(alone),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="tiny", help="argument of `handaxe serve --model`")
    parser.add_argument("--probe", choices=PROBES, default="chat", help="short requests of the other client")
    parser.add_argument("--largest", type=int, default=LARGEST, help="bytes of the largest body")
    parser.add_argument("--quick", action="store_true", help="10 bodies: to see that everything runs")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    count = 10 if options.quick else options.bodies
    rng, found = random.Random(options.seed), []
    process = subprocess.Popen([*SERVER, options.model, "--port", "0"], stderr=subprocess.PIPE, text=True)
    load = [os.getloadavg()[0]]
    try:
        port = int(re.search(r":(\d+)/", process.stderr.readline())[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        first = json.dumps({"messages": [user("hi")], "max_tokens": 400, "temperature": 0}).encode()
        known = json.loads(send(connection, first)[1])["choices"][0]["message"]
        for k in range(count):
            size = options.largest if k < len(FAMILIES) else rng.randrange(1_000, options.largest)
            family = FAMILIES[k % len(FAMILIES)]
            body = json.dumps(family(rng, size, known)).encode()
            repeats = [measure(port, body, options.probe) for _ in range(REPEATS)]
            least = min(repeats, key=lambda one: one["delay_ms"])
            longest = max(one["delay_ms"] for one in repeats)
            found.append({"family": family.__name__, **least, "longest_delay_ms": longest})
            print(json.dumps(found[-1]), file=sys.stderr)
    finally:
        process.terminate()
        process.wait()
    worst = max(found, key=lambda one: one["delay_ms"])
    result = {
        "bodies": found,
        "worst": worst,
        "model": options.model,
        "probe": options.probe,
        "repeats": REPEATS,
        "cores": os.cpu_count(),
        "load": [*load, os.getloadavg()[0]],
        "python": platform.python_version(),
    }
    text = json.dumps(result, indent=1)
    options.out.write_text(text + "\n") if options.out else print(json.dumps(worst))


if __name__ == "__main__":
    main()
