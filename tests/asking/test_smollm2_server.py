"""Questions to SmolLM2-135M behind `handaxe serve --model smollm2`, a process of its own."""

import re
import subprocess
import sys

import pytest

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, metrics_of
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import choice, probability
from handaxe.asking.store import AnswerStore
from handaxe.core.records import Sampling
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.models.load import load

pytestmark = [pytest.mark.slow, pytest.mark.hf]
SERVE = [sys.executable, "-c", "import sys; from handaxe.cli import main; sys.exit(main())", "serve"]
CHAT = Transcript()
STEP = find_prompt("step")
CONVERSATION = "user: What is 12*34?\nassistant calls calculator(12*34)\ntool: 408\nassistant: It is "
ASKS = [Ask(STEP, {"task": "What is 12*34?", "conversation": CONVERSATION + last}) for last in ("408.", '"409".\n---')]


@pytest.fixture(scope="module")
def policy():
    return load("smollm2")


def start():
    """The process of a server, and its address."""
    process = subprocess.Popen([*SERVE, "--model", "smollm2", "--port", "0"], stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if found := re.fullmatch(r"serving smollm2 at (http://127\.0\.0\.1:\d+/v1)\n", line):
            return process, found[1]
    raise AssertionError(f"the server ended with {process.wait()}")


def test_labels_of_the_server_equal_those_in_process_and_are_asked_once(policy, tmp_path):
    store = AnswerStore(tmp_path / "answers.sqlite")
    process, url = start()
    engine = OpenAICompatible(url, model="smollm2", format=CHAT, attempts=1)
    try:
        answerer = PolicyAnswerer(engine, CHAT, name="served")
        first = AskDesk(answerer, store=store, min_coverage=0.0)
        values = first.ask(ASKS, probability())
        calls = first.take_calls()
        text = Ask(find_prompt("check"), {**ASKS[0].fields, "criterion": "The answer is 408."}, sampling=Sampling(0.0))
        (written,) = AskDesk(answerer, min_coverage=0.0).ask([text], lambda answer: answer)
    finally:
        process.terminate()
        process.wait(30)
        process.stderr.close()
    local = PolicyAnswerer(LocalEngine(policy.model), policy.format, name="local").answer(ASKS)
    for call, found in zip(calls, local, strict=True):
        assert dict(call.answer.label_logp) == pytest.approx(dict(found.label_logp), abs=1e-3)
        assert call.answer.spent.read == found.spent.read and call.answer.spent.written == 1
    assert values == [pytest.approx(probability()(found), abs=1e-3) for found in local]
    assert set(written.label_logp) == {"yes", "no"}, "every shipped prompt is read at a server"

    second = AskDesk(answerer, store=store, min_coverage=0.0)  # the server is gone
    assert second.ask(ASKS, probability()) == values
    metrics = metrics_of(second.take_calls())
    assert metrics["asks"] == metrics["cached"] == 2 and metrics["seconds"] == 0
    unknown = Ask(STEP, {**ASKS[0].fields, "task": "another"})
    (failed,) = second.ask([unknown], choice(("yes", "no")))
    assert failed.reason == "unavailable", "a question without a stored answer needs the server"
    engine.close()
    store.close()
