"""Images through a real chat server: OpenAI's client, and a rollout whose tool returns an image."""

import json

import pytest

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("PIL")
pytest.importorskip("sklearn")
from helpers.chat_app import send, serving  # noqa: E402

from handaxe.core.images import split_images  # noqa: E402
from handaxe.core.records import Sampling, check  # noqa: E402
from handaxe.core.requests import Attempt, Sample  # noqa: E402
from handaxe.engines.local.engine import LocalEngine  # noqa: E402
from handaxe.engines.openai.engine import OpenAICompatible  # noqa: E402
from handaxe.models.chat_formats.transcript import Transcript  # noqa: E402
from handaxe.models.load import load  # noqa: E402
from handaxe.rollouts import driver  # noqa: E402
from handaxe.rollouts.linear import linear  # noqa: E402
from handaxe.worlds.plates.world import plates  # noqa: E402


@pytest.fixture(scope="module")
def policy():
    return load("tiny_vision")


@pytest.fixture(scope="module")
def port(policy):
    with serving(LocalEngine(policy.model), policy.format) as port:
        yield port


TASKS = plates().tasks("test", 4, 0)


def content(message):
    """Parts of the protocol of a text and one image."""
    text, image = split_images(message.content, message.images)
    return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": image.data_url}}]


def test_client_asks_about_an_image(policy, port):
    """The prompt has the ids of the conversation in this process, so the answers are equal."""
    with openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="any", max_retries=0) as client:
        for task in TASKS:
            (message,) = task.messages
            ids = policy.format.start([message], ()).ids
            (want,) = LocalEngine(policy.model).sample([request(policy.format, ids, task)])
            messages = [{"role": "user", "content": content(message)}]
            found = client.chat.completions.create(model="tiny", messages=messages, temperature=0, max_tokens=24)
            assert found.usage.prompt_tokens == len(ids) and found.usage.completion_tokens == len(want.ids)
            parsed, answer = policy.format.parse(want.ids, ()), found.choices[0].message.content
            assert answer and parsed.raw.startswith(answer)  # a call without tools is returned as it was written


def request(format, ids, task):
    images = task.messages[0].images
    return Sample(ids, Sampling(0.0, max_tokens=24), 0, format.stop_ids, format.header_ids, images=images)


def test_images_of_tools_reach_the_server_as_in_a_local_rollout(policy, port):
    """With images in tool results, both play the same conversation; in a user message, the conversation differs."""
    env = plates().env([])
    engine, zooms = LocalEngine(policy.model), 0
    for task in TASKS:
        local = Attempt(task, env, policy.format, Sampling(0.0, max_tokens=24), "a", 0, 0, engine.max_length)
        ((want,),) = driver.run([local], linear(max_turns=3), engine)
        format = Transcript(tool_images="tool")
        client = OpenAICompatible(f"http://127.0.0.1:{port}/v1", model="tiny", format=format, attempts=1)
        ((found,),) = driver.run(
            [Attempt(task, env, format, local.sampling, "a", 0, 0, client.max_length)], linear(max_turns=3), client
        )
        client.close()
        check(found)
        assert found.final_text == want.final_text and found.images == want.images
        assert [dict(call.arguments) for call in found.calls] == [dict(call.arguments) for call in want.calls]
        zooms += len(found.images) - 1
    assert zooms > 0


def test_damaged_image_and_text_policies_are_refused(policy, port):
    shown = content(TASKS[0].messages[0])
    shown[1] = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}
    status, body = send(port, {"messages": [{"role": "user", "content": shown}]})
    assert status == 400 and "not an image that can be read" in json.loads(body)["error"]["message"]
    status, body = send(port, {"messages": [{"role": "user", "content": "2"}], "max_tokens": 4})
    assert status == 200
    with serving(LocalEngine(load("tiny").model), load("tiny").format) as text_port:
        status, body = send(text_port, {"messages": [{"role": "user", "content": content(TASKS[0].messages[0])}]})
        assert status == 400 and "reads text only" in json.loads(body)["error"]["message"]
