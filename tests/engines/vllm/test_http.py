"""The client against a small real server: what it sends, what it reads, and that no call outlasts its deadline."""

import json
import math
import time
from concurrent.futures import CancelledError

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.core.requests import Partial, Sample
from handaxe.engines.vllm.http import PREFIX, HttpLoop, LostError, VllmHttp, Written

pytest.importorskip("starlette")
LIMITS = {"vocab_size": 10, "max_length": 12}
REQUEST = Sample([1, 2, 3], Sampling(0.7, 0.9, 4, 8), 2**70, frozenset({9, 5, 77}), header=frozenset({4}))


def answer(*tokens, finish="length", versions=(("1.0", 0, 99),)):
    """As vLLM says it; a token is (id, behaviour_logp, logp)."""
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
    """A server of starlette in a thread; `says` is (status, body or seconds to sleep), `heard` what came."""
    import asyncio
    import threading

    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    class Server:
        says = (200, {})
        heard = ()

    async def reply(request):
        body = await request.body()
        Server.heard = (
            request.method,
            request.url.path,
            dict(request.query_params),
            json.loads(body) if body else None,
        )
        status, said = Server.says
        if isinstance(said, float):
            await asyncio.sleep(said)
            said = {}
        return Response(said if isinstance(said, str) else json.dumps(said), status)

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
    return VllmHttp(server.url + "/", loop, timeout=5.0, patience=5.0)


def test_example(http, server):
    server.says = (200, answer((3, -0.25, -0.5), (9, -1.0, -1.0), finish="stop"))
    written = http.generate(REQUEST, "name", **LIMITS).result(5)
    assert written == Written([3, 9], [-0.5, -1.0], [-0.25, -1.0], [0, 0], "stop")
    method, path, _, body = server.heard
    assert (method, path) == ("POST", "/inference/v1/generate")
    assert (body["request_id"], body["token_ids"], body["stream"]) == ("name", [1, 2, 3], False)
    params = body["sampling_params"]
    assert params["stop_token_ids"] == [4, 5, 9], "an id that the model does not have can end nothing"
    assert (params["temperature"], params["max_tokens"], params["ignore_eos"]) == (0.0, 8, True)
    draws = {"temperature": 0.7, "top_p": 0.9, "top_k": 4, "seed": str(2**70), "drawn": 0, "forced": []}
    assert params["extra_args"] == {"handaxe": draws}


def test_a_turn_that_was_begun_goes_on_from_there(http, server):
    server.says = (200, answer((3, -0.25, -0.5)))
    begun = REQUEST._replace(begun=Partial([6, 7], [-1.0, -1.0], [-1.0, -1.0], [0, 0]))
    http.generate(begun, "name", **LIMITS).result(5)
    body = server.heard[3]
    assert body["token_ids"] == [1, 2, 3, 6, 7]
    assert body["sampling_params"]["max_tokens"] == 6
    assert body["sampling_params"]["extra_args"]["handaxe"]["drawn"] == 2
    http.generate(REQUEST._replace(sampling=Sampling(max_tokens=100)), "name", **LIMITS).result(5)
    assert server.heard[3]["sampling_params"]["max_tokens"] == 9, "to the room that is left"


def test_each_token_has_the_version_of_its_span(http, server):
    said = [(3, -0.1, -0.1)] * 4
    server.says = (200, answer(*said, versions=(("6.41", 0, 1), ("7.42", 1, 4)), finish="abort"))
    written = http.generate(REQUEST, "name", **LIMITS).result(5)
    assert (written.version, written.finish) == ([41, 42, 42, 42], "abort")


def test_a_logp_that_is_not_finite_comes_back_as_nan(http, server):
    server.says = (200, answer((3, -9999.0, -9999.0)))
    written = http.generate(REQUEST, "name", **LIMITS).result(5)
    assert math.isnan(written.logp[0]) and math.isnan(written.behaviour_logp[0])


def test_a_request_stopped_before_its_first_token_has_none(http, server):
    choice = {"token_ids": [], "logprobs": None, "finish_reason": "abort", "weight_versions": None}
    server.says = (200, {"choices": [choice]})
    assert http.generate(REQUEST, "name", **LIMITS).result(5) == Written([], [], [], [], "abort")


def test_a_server_without_the_plugin_is_told_apart(http, server):
    said = answer((3, -0.25, -0.5))
    said["choices"][0]["logprobs"]["content"][0]["logprob"] = -0.5
    server.says = (200, said)
    with pytest.raises(InputError, match="draws by itself.*server_options"):
        http.generate(REQUEST, "name", **LIMITS).result(5)


@pytest.mark.parametrize(
    "said",
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
def test_an_answer_that_cannot_be_used_loses_the_server(http, server, said):
    server.says = (200, said)
    with pytest.raises(LostError):
        http.generate(REQUEST, "name", **LIMITS).result(5)


def test_a_refusal_is_the_users_and_a_failure_the_servers(http, server):
    server.says = (400, {"error": "this model's maximum context length is 7"})
    with pytest.raises(InputError, match="HTTP 400.*maximum context length is 7"):
        http.generate(REQUEST, "name", **LIMITS).result(5)
    server.says = (500, {"error": "EngineDeadError"})
    with pytest.raises(LostError, match="HTTP 500.*EngineDeadError"):
        http.generate(REQUEST, "name", **LIMITS).result(5)


def test_routes(http, server):
    server.says = (200, {"weight_version": "3.2"})
    assert http.get("/weight_info") == {"weight_version": "3.2"}
    http.post("/pause", query={"mode": "keep", "clear_cache": "true"})
    assert server.heard == ("POST", "/pause", {"mode": "keep", "clear_cache": "true"}, None)
    http.abort("name").result(5)
    assert server.heard[1:] == ("/inference/v1/abort_requests", {}, {"request_ids": [PREFIX + "name"]})
    server.says = (200, "")
    assert http.health(5.0).result(5) == {}


def test_every_call_has_a_deadline(server, loop):
    short = VllmHttp(server.url, loop, timeout=0.1, patience=0.1)
    server.says = (200, 30.0)
    for call in (
        lambda: short.post("/pause"),
        lambda: short.get("/weight_info"),
        lambda: short.health(0.1).result(5),
        lambda: short.abort("name").result(5),
        lambda: short.generate(REQUEST, "name", **LIMITS).result(5),
    ):
        with pytest.raises(LostError, match=r"within 0\.1 s"):
            call()


def test_an_address_where_no_server_listens(loop):
    with pytest.raises(LostError, match="does not answer"):
        VllmHttp("http://127.0.0.1:9", loop).get("/health")
    with pytest.raises(InputError, match="no address"):
        VllmHttp("localhost:8000", loop)


def test_closing_gives_up_what_is_under_way(server):
    loop = HttpLoop()
    server.says = (200, 30.0)
    future = VllmHttp(server.url, loop).generate(REQUEST, "name", **LIMITS)
    loop.close()
    loop.close()
    with pytest.raises(CancelledError):
        future.result(5)
