"""Real vLLM servers that are killed, hang, refuse and never come up: what was asked of them is answered, or fails with
its reason, and no process is left."""

import contextlib
import time

import pytest

from handaxe.core.errors import InfrastructureError, TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.process import ServerProcess, server_options
from handaxe.engines.vllm.weights import FileTransport

pytestmark = pytest.mark.vllm
psutil = pytest.importorskip("psutil")
from helpers import vllm_case as case

STALE = """
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload
from handaxe.engines.vllm.plugin import FileWeights

def register():
    FileWeights.finish_weight_update = lambda self: finalize_layerwise_reload(self.model, self.model_config)
"""


def processes(server):
    """Those of a server, the watcher among them."""
    watcher = psutil.Process(server.running.pid)
    return [watcher, *watcher.children(recursive=True)]


def gone(found):
    """Those that are still there ten seconds later; kill -9 acts at once."""
    return psutil.wait_procs(found, timeout=10)[1]


def requests(count, tokens=200):
    return [Sample([1 + n, 2, 3], Sampling(max_tokens=tokens), n, frozenset()) for n in range(count)]


def finish(stream, done):
    while len(stream):
        done.update(stream.poll(1.0))
    return done


@pytest.fixture(scope="module")
def pair():
    with case.started(start_servers=2) as fleet:
        yield fleet
        found = [process for server in fleet.servers._servers if server.running for process in processes(server)]
        fleet.servers.close()
        assert found and not gone(found), "close leaves processes"


def both_up(fleet):
    """Wait until both have the weights of now."""
    deadline = time.monotonic() + 400
    while fleet.servers.push()["push_servers"] < 2:
        assert time.monotonic() < deadline, [(s.state, s.error) for s in fleet.servers._servers]
        time.sleep(0.5)


def test_a_server_killed_with_requests_at_work_changes_no_token(pair):
    engine = case.Served(pair, case.make_model())
    pair.engine = engine
    both_up(pair)
    want = LocalEngine(case.make_model()).sample(requests(12))
    stream = engine.stream()
    for request in requests(12):
        stream.submit(request)
    done = dict(stream.poll(0.2))
    first, other = pair.servers._servers
    assert first.load > 2 and other.load > 2, "both are at work"
    found = processes(first)
    for process in found[1:]:  # all but the watcher, as when memory runs out
        process.kill()
    finish(stream, done)
    assert [done[n].ids for n in range(12)] == [one.ids for one in want]
    assert not gone(found)
    assert first.label == "" and first.life == 1, "it is asked nothing before it has the weights again"


def test_a_server_that_dies_in_an_update_is_begun_again_with_the_weights(pair):
    engine = case.Served(pair, case.make_model(seed=5))
    both_up(pair)
    victim = pair.servers._servers[1]
    found = []

    class Killing(FileTransport):
        def send(self, server, label):
            if server is victim.http:
                server.post("/start_weight_update")
                found.extend(processes(victim))
                for process in found[1:]:
                    with contextlib.suppress(psutil.NoSuchProcess):
                        process.kill()
            super().send(server, label)

    pair.servers._transport, before = Killing(), pair.servers._transport
    try:
        done = engine.sample(requests(4, tokens=20))
    finally:
        pair.servers._transport = before
    assert [one.ids for one in done] == [
        one.ids for one in LocalEngine(case.make_model(seed=5)).sample(requests(4, tokens=20))
    ]
    assert found and victim.life > 0 and not gone(found)


def test_a_server_that_never_comes_up_says_why_and_leaves_nothing():
    before = psutil.Process().children(recursive=True)
    with pytest.raises(InfrastructureError, match=r"not up within 3 s \(start_timeout\)"):
        case.started(start_servers=1, start_timeout=3.0).__enter__()
    left = [process for process in psutil.Process().children(recursive=True) if process not in before]
    assert not gone(left)


def test_a_server_ends_with_the_program_that_started_it(tmp_path):
    """Also where that is killed: the watcher's standard input closes."""
    case.write_config(case.make_model().module, tmp_path)
    server = ServerProcess(tmp_path, server_options())
    watcher = psutil.Process(server.pid)
    while not watcher.children():
        time.sleep(0.05)
    found = [watcher, *watcher.children(recursive=True)]
    server._process.stdin.close()
    assert not gone(found)
    assert not server.alive()
    server.stop()
    server.stop()


def test_the_probe_finds_a_tied_head_that_vllm_keeps(tmp_path):
    """vLLM keeps the packed copy of an output layer that is tied; the plugin packs it again. Here it does not."""
    about = tmp_path / "stale-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stale\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[vllm.general_plugins]\nstale = stale_head:register\n")
    (tmp_path / "stale_head.py").write_text(STALE)
    variables = {**case.ENVIRONMENT, "VLLM_PLUGINS": "handaxe,stale", "PYTHONPATH": str(tmp_path)}
    options = [*server_options(max_length=case.LONGEST), *case.SMALL]

    def launch(number, folder):
        return ServerProcess(folder, options, environment=variables)

    with case.started(start_servers=1, launch=launch) as fleet:
        engine = case.Served(fleet, case.make_model())
        with pytest.raises(TrainingError, match="an output layer that was not replaced"):
            engine.sample(requests(1, tokens=4))
        assert fleet.servers.metrics["push_gap"] > 1e-2
