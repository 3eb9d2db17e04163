"""VllmHttp with a small real server: requests, answers and deadlines."""

import json
import time
from concurrent.futures import CancelledError

import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.vllm.generate_request import Generated
from handaxe.engines.vllm.image_prompt import image_prompt
from handaxe.engines.vllm.vllm_http import REQUEST_PREFIX, ServerLostError, VllmHttp
from handaxe.models.tiny_image_processor import PLACEHOLDER_ID, TinyImageProcessor
from handaxe.tools.web.http_loop import HttpLoop

pytest.importorskip("starlette")
LIMITS = {"vocab_size": 10, "max_length": 12}
REQUEST = Sample([1, 2, 3], Sampling(0.7, 0.9, 4, 8), 2**70, frozenset({9, 5, 77}), header=frozenset({4}))


def answer(*tokens, finish="length", versions=(("1.0", 0, 99),)):
    """An answer of vLLM; a token is (id, behaviour_logp, logp)."""
    content = []
    for token, behaviour, logp in tokens:
        others = [(token, 1.0), ((token + 1) % 10, behaviour), ((token + 2) % 10, logp)]
        content.append(
            {"token_id": token, "logprob": 1.0, "top_logprobs": [{"token_id": i, "logprob": x} for i, x in others]}
        )
    spans = [{"version": v, "start": a, "end": min(b, len(tokens))} for v, a, b in versions]
    ids = [token for token, *_ in tokens]
    choice = {"token_ids": ids, "logprobs": {"content": content}, "finish_reason": finish, "weight_versions": spans}
    return {"choices": [choice]}


@pytest.fixture(scope="module")
def server():
    """A server in a thread; `answer` is (status, body or seconds to sleep), `received` the last request."""
    import asyncio
    import threading

    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    class Server:
        answer = (200, {})
        received = ()
        count = 0

    async def reply(request):
        body = await request.body()
        Server.count += 1
        Server.received = (
            request.method,
            request.url.path,
            dict(request.query_params),
            json.loads(body) if body else None,
        )
        status, content = Server.answer
        if isinstance(content, float):
            await asyncio.sleep(content)
            content = {}
        return Response(content if isinstance(content, str) else json.dumps(content), status)

    app = Starlette(routes=[Route("/{path:path}", reply, methods=["GET", "POST"])])
    uvicorn_server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    thread = threading.Thread(target=uvicorn_server.run, daemon=True)
    thread.start()
    while not uvicorn_server.started:
        time.sleep(0.01)
    Server.url = f"http://127.0.0.1:{uvicorn_server.servers[0].sockets[0].getsockname()[1]}"
    yield Server
    uvicorn_server.force_exit = uvicorn_server.should_exit = True
    thread.join(5)


@pytest.fixture
def loop():
    loop = HttpLoop()
    yield loop
    loop.close()


@pytest.fixture
def http(server, loop):
    return VllmHttp(server.url + "/", loop, timeout=5.0, request_timeout=5.0)


def test_generate_sends_the_request_and_decodes_the_tokens(http, server):
    server.answer = (200, answer((3, -0.25, -0.5), (9, -1.0, -1.0), finish="stop"))
    generated = http.generate(REQUEST, "name", **LIMITS).result(5)
    assert generated == Generated([3, 9], [-0.5, -1.0], [-0.25, -1.0], [0, 0], "stop")
    method, path, _, body = server.received
    assert (method, path) == ("POST", "/inference/v1/generate")
    assert (body["request_id"], body["token_ids"], body["stream"]) == ("name", [1, 2, 3], False)
    params = body["sampling_params"]
    assert params["stop_token_ids"] == [4, 5, 9], "ids outside the vocabulary are left out"
    assert (params["temperature"], params["max_tokens"], params["ignore_eos"]) == (0.0, 8, True)
    draws = {"temperature": 0.7, "top_p": 0.9, "top_k": 4, "seed": str(2**70), "drawn": 0, "forced": []}
    assert params["extra_args"] == {"handaxe": draws}


def test_partial_turn_is_continued(http, server):
    server.answer = (200, answer((3, -0.25, -0.5)))
    partial = REQUEST._replace(prefix=Partial([6, 7], [-1.0, -1.0], [-1.0, -1.0], [0, 0]))
    http.generate(partial, "name", **LIMITS).result(5)
    body = server.received[3]
    assert body["token_ids"] == [1, 2, 3, 6, 7]
    assert body["sampling_params"]["max_tokens"] == 6
    assert body["sampling_params"]["extra_args"]["handaxe"]["drawn"] == 2
    http.generate(REQUEST._replace(sampling=Sampling(max_tokens=100)), "name", **LIMITS).result(5)
    assert server.received[3]["sampling_params"]["max_tokens"] == 9, "limited by the context"


KEYS = {"request_id", "token_ids", "sampling_params", "stream"}
IMAGE = noise(0, 16, 16)
PROCESSOR = TinyImageProcessor(8)
SEEN = REQUEST._replace(ids=[1, *IMAGE.ids(4), 3], images=(IMAGE,))
PROMPT = image_prompt(SEEN.ids, SEEN.images, PROCESSOR)


def test_body_of_text_has_no_fields_of_images(http, server):
    server.answer = (200, answer((3, -0.25, -0.5)))
    http.generate(REQUEST._replace(images=(IMAGE,)), "name", **LIMITS).result(5)
    assert server.received[3].keys() == KEYS


def test_body_with_an_image_has_the_short_ids_and_asks_for_the_prompt(http, server):
    server.answer = (200, answer((3, -0.25, -0.5)) | {"prompt_token_ids": PROMPT.expanded})
    generate = lambda: http.generate(SEEN, "name", **LIMITS, prompt=PROMPT).result(5)  # noqa: E731
    assert generate().ids == [3]
    body = server.received[3]
    part = {"type": "image_url", "url": IMAGE.data_url, "uuid": IMAGE.digest}
    assert body.keys() == KEYS | {"content_parts", "return_token_ids"} and body["return_token_ids"] is True
    assert (body["token_ids"], body["content_parts"]) == ([1, PLACEHOLDER_ID, 3], [part])
    assert body["sampling_params"]["max_tokens"] == 6, "the limit counts every token of the image"
    generate()
    assert server.received[3] == body | {"content_parts": [part | {"url": None}]}
    http.sent_images.clear()
    generate()
    assert server.received[3] == body


@pytest.mark.parametrize("ids", [None, "1 2", [1, 2.5], [True]])
def test_answer_without_the_prompt_is_unusable(http, server, ids):
    server.answer = (200, answer((3, -0.25, -0.5)) | {"prompt_token_ids": ids})
    with pytest.raises(ServerLostError, match="unusable: it has no list of the prompt's ids"):
        http.generate(SEEN, "name", **LIMITS, prompt=PROMPT).result(5)


@pytest.mark.parametrize(("status", "error", "sent"), [(400, InputError, 1), (500, ServerLostError, 2)])
def test_refused_bytes_are_sent_again_only_if_the_server_may_have_lost_the_image(http, server, status, error, sent):
    server.answer, server.count = (status, {"error": "Cache miss"}), 0
    with pytest.raises(error, match=f"HTTP {status}"):
        http.generate(SEEN, "name", **LIMITS, prompt=PROMPT).result(5)
    assert server.count == sent and server.received[3]["content_parts"][0]["url"] == IMAGE.data_url


def test_failed_upload_is_repeated_by_the_next_request(http, server):
    server.answer = (200, 30.0)
    future = http.generate(SEEN, "name", **LIMITS, prompt=PROMPT)
    while not http.sent_images.arriving([IMAGE]):
        time.sleep(0.01)
    future.cancel()
    while http.sent_images.arriving([IMAGE]):
        time.sleep(0.01)
    server.answer = (200, answer((3, -0.25, -0.5)) | {"prompt_token_ids": PROMPT.expanded})
    http.generate(SEEN, "name", **LIMITS, prompt=PROMPT).result(5)
    assert server.received[3]["content_parts"][0]["url"] == IMAGE.data_url


def test_tokens_have_the_version_of_their_span(http, server):
    tokens = [(3, -0.1, -0.1)] * 4
    server.answer = (200, answer(*tokens, versions=(("6.41", 0, 1), ("7.42", 1, 4)), finish="abort"))
    generated = http.generate(REQUEST, "name", **LIMITS).result(5)
    assert (generated.version, generated.finish) == ([41, 42, 42, 42], "abort")


def test_nonfinite_logp_raises_server_lost_error(http, server):
    server.answer = (200, answer((3, -9999.0, -9999.0)))
    with pytest.raises(ServerLostError, match="token 0 has the log-prob -9999.0, which is above 0 or not finite"):
        http.generate(REQUEST, "name", **LIMITS).result(5)


def test_request_aborted_before_its_first_token_is_empty(http, server):
    choice = {"token_ids": [], "logprobs": None, "finish_reason": "abort", "weight_versions": None}
    server.answer = (200, {"choices": [choice]})
    assert http.generate(REQUEST, "name", **LIMITS).result(5) == Generated([], [], [], [], "abort")


def test_server_without_the_plugin_raises(http, server):
    body = answer((3, -0.25, -0.5))
    body["choices"][0]["logprobs"]["content"][0]["logprob"] = -0.5
    server.answer = (200, body)
    with pytest.raises(ServerLostError, match="samples without handaxe's plugin.*server_options"):
        http.generate(REQUEST, "name", **LIMITS).result(5)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"choices": []},
        {"choices": [{}]},
        [],
        "no JSON",
        answer((3, 0, 0)) | {"choices": [7]},
        answer((3, 0, 0), (4, 0, 0), versions=()),
        answer((3, 0, 0), (4, 0, 0), versions=(("1.0", 0, 1),)),
        answer((3, 0, 0), versions=(("default", 0, 1),)),
    ],
)
def test_unusable_answer_raises_server_lost_error(http, server, content):
    server.answer = (200, content)
    with pytest.raises(ServerLostError):
        http.generate(REQUEST, "name", **LIMITS).result(5)


def test_status_400_raises_input_error_and_500_server_lost_error(http, server):
    server.answer = (400, {"error": "this model's maximum context length is 7"})
    with pytest.raises(InputError, match="HTTP 400.*maximum context length is 7"):
        http.generate(REQUEST, "name", **LIMITS).result(5)
    server.answer = (500, {"error": "EngineDeadError"})
    with pytest.raises(ServerLostError, match="HTTP 500.*EngineDeadError"):
        http.generate(REQUEST, "name", **LIMITS).result(5)


def test_requests_have_the_routes_and_parameters_of_vllm(http, server):
    server.answer = (200, {"weight_version": "3.2"})
    assert http.get("/weight_info") == {"weight_version": "3.2"}
    http.post("/pause", query={"mode": "keep", "clear_cache": "true"})
    assert server.received == ("POST", "/pause", {"mode": "keep", "clear_cache": "true"}, None)
    http.abort("name").result(5)
    assert server.received[1:] == ("/inference/v1/abort_requests", {}, {"request_ids": [REQUEST_PREFIX + "name"]})
    server.answer = (200, "")
    assert http.health(5.0).result(5) == {}


def test_every_call_has_a_deadline(server, loop):
    short = VllmHttp(server.url, loop, timeout=0.1, request_timeout=0.1)
    server.answer = (200, 30.0)
    for call in (
        lambda: short.post("/pause"),
        lambda: short.get("/weight_info"),
        lambda: short.health(0.1).result(5),
        lambda: short.abort("name").result(5),
        lambda: short.generate(REQUEST, "name", **LIMITS).result(5),
    ):
        with pytest.raises(ServerLostError, match=r"within 0\.1 s"):
            call()


def test_unreachable_and_invalid_addresses_raise(loop):
    with pytest.raises(ServerLostError, match="does not answer"):
        VllmHttp("http://127.0.0.1:9", loop).get("/health")
    with pytest.raises(InputError, match="no server address"):
        VllmHttp("localhost:8000", loop)


def test_close_cancels_pending_requests(server):
    loop = HttpLoop()
    server.answer = (200, 30.0)
    future = VllmHttp(server.url, loop).generate(REQUEST, "name", **LIMITS)
    loop.close()
    loop.close()
    with pytest.raises(CancelledError):
        future.result(5)
