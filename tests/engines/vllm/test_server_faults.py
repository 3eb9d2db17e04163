"""Real vLLM servers that die, hang or never start: requests complete or fail with a reason, and no process is left."""

import contextlib
import time

import pytest
from helpers import vllm_case as case

from handaxe.core.errors import InfrastructureError, TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.vllm.prefix_router import UNIT
from handaxe.engines.vllm.server_process import ServerProcess, server_options
from handaxe.engines.vllm.weight_transfer import FileTransport

pytestmark = pytest.mark.vllm
psutil = pytest.importorskip("psutil")

STALE = """
from vllm.model_executor.model_loader.reload import finalize_layerwise_reload
from handaxe.engines.vllm.plugin import FileWeights

def register():
    FileWeights.finish_weight_update = lambda self: finalize_layerwise_reload(self.model, self.model_config)
"""


def processes(server):
    """The processes of a server, with its watchdog."""
    parent = psutil.Process(server.running.pid)
    return [parent, *parent.children(recursive=True)]


def still_running(found):
    """The processes still running after ten seconds."""
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
        found = [process for server in fleet.servers.states.servers if server.running for process in processes(server)]
        fleet.servers.close()
        assert found and not still_running(found), "close leaves processes"


def wait_for_both(fleet):
    """Wait until both servers have the current weights."""
    deadline = time.monotonic() + 400
    while fleet.servers.push()["push_servers"] < 2:
        assert time.monotonic() < deadline, [(s.state, s.error) for s in fleet.servers.states.servers]
        time.sleep(0.5)


def test_killed_server_with_running_requests_changes_no_token(pair):
    engine = case.Served(pair, case.make_model())
    pair.engine = engine
    wait_for_both(pair)
    want = LocalEngine(case.make_model()).sample(requests(12))
    stream = engine.stream()
    for request in requests(12):
        stream.submit(request)
    done = dict(stream.poll(0.2))
    first, other = pair.servers.states.servers
    assert first.load > 2 * UNIT and other.load > 2 * UNIT, "both are at work"
    found = processes(first)
    for process in found[1:]:  # all but the watchdog, as when memory runs out
        process.kill()
    finish(stream, done)
    assert [done[n].ids for n in range(12)] == [one.ids for one in want]
    assert not still_running(found)
    assert first.label == "" and first.generation == 1, "a restarted server samples nothing before it has the weights"


def test_server_killed_during_an_update_is_restarted(pair):
    engine = case.Served(pair, case.make_model(seed=5))
    wait_for_both(pair)
    victim = pair.servers.states.servers[1]
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
    assert found and victim.generation > 0 and not still_running(found)


def test_server_start_timeout_raises_and_leaves_no_process():
    before = psutil.Process().children(recursive=True)
    with pytest.raises(InfrastructureError, match=r"not up within 3 s \(start_timeout\)"):
        case.started(start_servers=1, start_timeout=3.0).__enter__()
    leftover = [process for process in psutil.Process().children(recursive=True) if process not in before]
    assert not still_running(leftover)


def test_server_ends_with_its_program(tmp_path):
    """Even if the program is killed: the watchdog's standard input closes."""
    case.write_config(case.make_model().module, tmp_path)
    server = ServerProcess(tmp_path, server_options())
    parent = psutil.Process(server.pid)
    while not parent.children():
        time.sleep(0.05)
    found = [parent, *parent.children(recursive=True)]
    server._process.stdin.close()
    assert not still_running(found)
    assert not server.alive()
    server.stop()
    server.stop()


def test_probe_detects_a_stale_tied_output_layer(tmp_path):
    """With a plugin that does not pack the tied output layer again, which leaves vLLM's stale packed copy."""
    info = tmp_path / "stale-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stale\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[vllm.general_plugins]\nstale = stale_head:register\n")
    (tmp_path / "stale_head.py").write_text(STALE)
    variables = {**case.ENVIRONMENT, "VLLM_PLUGINS": "handaxe,stale", "PYTHONPATH": str(tmp_path)}
    options = [*server_options(max_length=case.MAX_LENGTH), *case.SMALL]

    def launch(number, folder):
        return ServerProcess(folder, options, environment=variables)

    with case.started(start_servers=1, launch=launch) as fleet:
        engine = case.Served(fleet, case.make_model())
        with pytest.raises(TrainingError, match="an output layer that was not replaced"):
            engine.sample(requests(1, tokens=4))
        assert fleet.servers.metrics["push_gap"] > 1e-2
