"""Answers of a server process that lies: each costs requests, and reaches no batch."""

import httpx
import pytest

from handaxe.core.errors import InfrastructureError
from handaxe.core.records import Sampling
from handaxe.core.requests import Measure, Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.servers import VllmServers
from handaxe.engines.vllm.weight_transfer import ServedPolicy, served_weights
from handaxe.models.tiny import TinyConfig, TinyModel

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
from helpers import lying_vllm

CONFIG = TinyConfig(vocab_size=20, width=8, layers=1, heads=2, max_length=18)
REQUEST = Sample([1, 2, 3], Sampling(max_tokens=10), 1, frozenset({19}))
REASONS = {
    "id above the vocabulary": "token 1 is 1000000, and ids are integers in [0, 20)",
    "last id above the vocabulary": "is 1000000, and ids are",
    "negative id": "token 1 is -1, and ids are",
    "fraction for an id": ".7, and ids are integers",
    "more tokens": "500 tokens, and 10 were requested",
    "tokens after the stop id": "token 1 of 10 is a stop id, and tokens follow",
    "log-prob above 0": "has the log-prob 0.9, which is above 0 or not finite",
    "log-prob NaN": "has the log-prob nan",
    "version that was never sent": "weights [300000000], which were never sent",
    "one version span of 300 million tokens": "versions of 10 tokens have a span 0 to 300000000",
    lying_vllm.LONG: "has more than",
}


@pytest.fixture(scope="module")
def processes():
    """A lying and an honest server process."""
    with lying_vllm.LyingProcess(CONFIG) as liar, lying_vllm.LyingProcess(CONFIG) as honest:
        yield liar, honest


@pytest.fixture(scope="module")
def local():
    return LocalEngine(TinyModel.new(CONFIG, seed=2))


@pytest.fixture
def serve(processes, local):
    """A function that connects to servers; the first one lies."""
    made = []
    policy = ServedPolicy(
        version=lambda: 0,
        stamp=lambda: 0,
        gather=lambda: served_weights(local.model.module),
        score=lambda ids, start=1, images=(): local.measure([Measure(ids, start, images=images)])[0]["logp"],
        vocab_size=CONFIG.vocab_size,
        max_length=CONFIG.max_length,
    )

    def start(lie, count=1):
        tell(processes[0], "")
        made.append(VllmServers(policy, servers=[process.url for process in processes[:count]], timeout=20.0))
        tell(processes[0], lie)
        return made[-1]

    yield start
    for servers in made:
        servers.close()
    tell(processes[0], "")


def tell(process, lie):
    httpx.post(process.url + "/lie", params={"name": lie}).raise_for_status()


def results(stream):
    found = {}
    while len(stream):
        found.update(stream.poll(5.0))
    return found


@pytest.mark.parametrize("lie", [*lying_vllm.LIES, *lying_vllm.TEXTS])
def test_answer_that_does_not_fit_costs_the_request_alone(serve, processes, local, lie):
    want = local.sample([REQUEST])[0]
    assert len(want.ids) == 10 and 19 not in want.ids
    servers = serve(lie)
    stream = servers.stream()
    stream.submit(REQUEST)
    error = results(stream)[0]
    assert isinstance(error, InfrastructureError) and "3 servers were lost while sampling it" in str(error)
    assert REASONS.get(lie, "") in str(error)
    tell(processes[0], "")
    done = servers.sample([REQUEST])[0]
    assert (done.ids, done.finish, done.version) == (want.ids, want.finish, want.version)


@pytest.mark.parametrize("lie", ["log-prob NaN", "id above the vocabulary", lying_vllm.NESTED])
def test_requests_of_a_lying_server_move_to_another_server(serve, local, lie):
    requests = [REQUEST._replace(ids=[1 + k, 2, 3], seed=k) for k in range(4)]
    servers = serve(lie, count=2)
    stream = servers.stream()
    for request in requests:
        stream.submit(request)
    found = results(stream)
    want = local.sample(requests)
    done = {k: one for k, one in found.items() if not isinstance(one, InfrastructureError)}
    assert done and all(one.ids == want[k].ids for k, one in done.items())
    assert servers.states.servers[0].generation > 0 and servers.states.servers[1].generation == 0


@pytest.mark.slow
@pytest.mark.parametrize("lie", ["log-prob NaN", lying_vllm.NESTED])
def test_server_that_lies_to_probes_is_given_up(serve, lie):
    """Not reported as damaged weights of the policy."""
    servers = serve(f"probe {lie}")
    with pytest.raises(InfrastructureError, match="no server is left. server 0: .*unusable|no JSON"):
        servers.sample([REQUEST])
