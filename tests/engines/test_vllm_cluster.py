"""Two ranks that train, and a real vLLM server that samples from them."""

import importlib.util
from pathlib import Path

import pytest
from safetensors.torch import load as read_tensors

from handaxe.engines.cluster import ClusterEngine
from handaxe.engines.local import LocalEngine
from handaxe.engines.ranks import Ranks
from handaxe.exchange import Measure, Sample
from handaxe.records import Sampling
from handaxe.testing.engine import check_engine
from handaxe.testing.engine_case import example_batch, example_loss

pytestmark = pytest.mark.vllm
_spec = importlib.util.spec_from_file_location("vllm_case", Path(__file__).with_name("vllm_case.py"))
case = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(case)


@pytest.fixture(scope="module")
def two():
    ranks = Ranks(2, timeout=300.0, device="cpu")
    yield ranks
    ranks.close()


@pytest.fixture(scope="module")
def fleet():
    with case.started(start_servers=1) as found:
        yield found


class Shared(ClusterEngine):
    """Samples by a server that other engines of this test sample by too: starting one for each would take minutes."""

    def __init__(self, fleet, ranks, **options):
        super().__init__(case.make_model(), trainers=ranks, **options)
        self._fleet = fleet
        fleet.count += 1
        self.number = fleet.count

    def stream(self):
        return case.ServedStream(self._fleet, self)

    def sample(self, requests):
        self._fleet.engine = self
        return self._fleet.servers.sample(requests)


def test_two_ranks_and_a_server_pass_the_contract(fleet, two, tmp_path):
    fleet.servers.policy = fleet.servers.policy._replace(
        mark=lambda: (fleet.engine.number, fleet.engine.version, fleet.engine._changes),
        gather=lambda: dict(fleet.engine.gather()),
    )

    def gradient(engine):
        found = read_tensors(engine.ranks.call(engine._key, "gather", "gradient")[0])
        return {name.removeprefix("weights."): g for name, g in found.items()}

    checks = check_engine(
        lambda: Shared(fleet, two, reference=True),
        case.make_model,
        folder=tmp_path,
        tolerance=1e-5,
        gradient=gradient,
        weights=lambda engine: dict(engine.pieces()),
        reference=True,
    )
    assert len(checks) == 18


def test_an_engine_of_its_own_pushes_what_it_has_learnt(fleet, two):
    url = fleet.servers._servers[0].running.url
    local = LocalEngine(case.make_model())
    requests = [Sample([1 + n, 2, 3], Sampling(max_tokens=12), n, frozenset()) for n in range(4)]
    with ClusterEngine(case.make_model(), trainers=two, servers=[url]) as engine:
        for step in range(2):
            assert [one.ids for one in engine.sample(requests)] == [one.ids for one in local.sample(requests)]
            for each in (engine, local):
                each.forward_backward(example_batch(case.make_model(), seed=step), example_loss)
                metrics = each.optim_step(learning_rate=1e-3)
                assert each is local or (metrics["push_gap"] < 1e-3 and metrics["push_seconds"] > 0)
        row = [5, 6, 7, 8]
        got, want = (each.measure([Measure(row, 1)])[0]["logp"] for each in (engine, local))
        assert got == pytest.approx(want, abs=1e-4)
