"""ClusterEngine against LocalEngine, and its faults. Ranks are started once for all tests that leave them whole."""

import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
import torch
from safetensors.torch import load as read_tensors

from handaxe.core.batch import LossOut
from handaxe.core.errors import CheckpointError, InputError, TrainingError
from handaxe.core.records import Sampling
from handaxe.core.requests import Measure, Sample
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.testing.engine import check_engine
from handaxe.testing.engine_case import example_batch, example_loss

CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=20)
PATIENCE = 300.0


def tiny():
    return TinyModel(TinyModel.new(CONFIG, seed=1).module.double(), pad_id=0)


def batch_of(rows=5, seed=0):
    batch = example_batch(tiny(), rows=rows, seed=seed)
    return batch.map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)


def loss_of_all(out, batch):
    """Depends on everything that the model says, and on the rows together."""
    value, metrics = example_loss(out, batch)
    together = torch.where(batch.mask_BT, out.logp_BT, 0.0).sum(1).logsumexp(0)
    if out.value_BT is not None:
        value = value + torch.where(batch.mask_BT, (out.value_BT - batch.adv_BT) ** 2, 0.0).sum() / len(batch)
    return LossOut(value + together / batch.denominators.tokens, metrics)


def gradient(engine):
    found = read_tensors(engine.ranks.call(engine._key, "gather", "gradient")[0])
    return {name.removeprefix("weights."): g for name, g in found.items()}


def weights(engine):
    return dict(engine.pieces())


@pytest.fixture(scope="module")
def one():
    ranks = Ranks(1, timeout=PATIENCE, device="cpu")
    yield ranks
    ranks.close()


@pytest.fixture(scope="module")
def two():
    ranks = Ranks(2, timeout=PATIENCE, device="cpu")
    yield ranks
    ranks.close()


@pytest.fixture(scope="module")
def three():
    ranks = Ranks(3, timeout=PATIENCE, device="cpu")
    yield ranks
    ranks.close()


def same(got, want, what):
    scale = max(1.0, float(want.abs().max())) if want.numel() else 1.0
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12 * scale, msg=lambda said: f"{what}: {said}")


def agree(ranks, make, rows=(5, 2, 1), steps=3, **options):
    """Loss, measures, gradient, its norm and the weights of some steps are those of one process."""
    one = LocalEngine(make(), **options)
    with ClusterEngine(make(), trainers=ranks, micro_batch_rows=2, **options) as several:
        for step in range(steps):
            batch = batch_of(rows[step % len(rows)], seed=step)
            for reference in {False, options.get("reference", False)}:
                names = ("logp", "entropy", "collision")
                names += ("value",) if options.get("critic") and not reference else ()
                want = one.forward(batch, reference=reference, names=names)
                for name, got_BT in several.forward(batch, reference=reference, names=names).items():
                    same(got_BT, want[name], f"{name}, reference {reference}")
            for engine_batch in (batch, batch_of(2, seed=9)):  # gradients of several batches add up
                want, got = (engine.forward_backward(engine_batch, loss_of_all) for engine in (one, several))
                same(got.value, want.value, "the loss")
                assert got.metrics == pytest.approx(want.metrics, abs=1e-12)
            own = {name.removeprefix("weights."): p.grad for name, p in one._trained.items() if p.grad is not None}
            shown = gradient(several)
            assert shown.keys() == own.keys()
            for name in own:
                same(shown[name], own[name], f"the gradient of {name}")
            norms = [engine.optim_step(learning_rate=1e-2)["grad_norm"] for engine in (one, several)]
            assert norms[1] == pytest.approx(norms[0], abs=1e-12)
        found = weights(several)
        for name, p in one.model.module.named_parameters():
            same(found[name], p.detach(), f"{name} after {steps} steps")
        return several.ranks.call(several._key, "count", "held")


CASES = {
    "trees": {},
    "rows": {"packing": "rows"},
    "several packs": {"pack_tokens": 8},
    "layers computed again": {"checkpointing": True},
    "critic and reference": {"critic": True, "reference": True, "weight_decay": 0.1, "clip_norm": 0.01},
}


@pytest.mark.parametrize("count", ["two", "three"])
@pytest.mark.parametrize("case", CASES)
def test_ranks_are_one_process(request, count, case):
    ranks = request.getfixturevalue(count)
    held = agree(ranks, tiny, **CASES[case])
    whole = sum(p.numel() for p in tiny().module.parameters())
    share = 1 / len(held) + 0.1
    assert len(held) == {"two": 2, "three": 3}[count]
    for rank in held:
        assert rank["parameters"] <= whole * share and rank["moments"] <= 2 * whole * share


@pytest.mark.slow
def test_two_ranks_pass_the_contract_of_an_engine(two, tmp_path):
    made = []

    def make():
        made.append(ClusterEngine(tiny(), trainers=two, reference=True))
        return made[-1]

    checks = check_engine(
        make, tiny, folder=tmp_path, tolerance=1e-7, gradient=gradient, weights=weights, reference=True
    )
    assert len(checks) == 19
    for engine in made:
        engine.close()


# --- keeping -----------------------------------------------------------------------------------------------------


def steps(engine, seeds):
    for seed in seeds:
        engine.forward_backward(batch_of(seed=seed), example_loss)
        engine.optim_step(learning_rate=1e-2)


def test_a_run_goes_on_on_any_number_of_ranks_and_in_one_process(one, two, three, tmp_path):
    want = LocalEngine(tiny(), reference=True, critic=True)
    steps(want, range(4))
    whole = dict(want.model.module.named_parameters())
    options = {"reference": True, "critic": True}

    def ends_alike(engine, folder):
        engine.load(folder)
        assert engine.version == 2
        steps(engine, (2, 3))
        found = weights(engine) if isinstance(engine, ClusterEngine) else dict(engine.model.module.named_parameters())
        for name, p in whole.items():
            same(found[name].detach(), p.detach(), f"{name} of a run that was resumed")
        batch = batch_of(seed=7)
        same(engine.forward(batch, reference=True)["logp"], want.forward(batch, reference=True)["logp"], "reference")

    first = ClusterEngine(tiny(), trainers=two, **options)
    steps(first, (0, 1))
    first.save(tmp_path / "cluster")
    for ranks in (one, two, three):
        with ClusterEngine(tiny(), trainers=ranks, **options) as engine:
            ends_alike(engine, tmp_path / "cluster")
    ends_alike(LocalEngine(tiny(), **options), tmp_path / "cluster")
    local = LocalEngine(tiny(), **options)
    steps(local, (0, 1))
    local.save(tmp_path / "local")
    ends_alike(first, tmp_path / "local")
    assert first.start_digest() != local.start_digest()
    first.load(tmp_path / "local")
    assert first.start_digest() == local.start_digest()
    kept = local.state_dict()
    steps(first, (5,))
    first.load_state_dict(kept)
    back = first.state_dict()
    assert back["version"] == 2 and back["tensors"].keys() == kept["tensors"].keys()
    assert all(torch.equal(back["tensors"][name], tensor) for name, tensor in kept["tensors"].items())
    with pytest.raises(CheckpointError, match="another engine"):
        ClusterEngine(tiny(), trainers=two).load(tmp_path / "local")
    first.load_weights(tmp_path / "local")
    assert first.version == 2 and not any(name.startswith("optimizer.") for name in first.state_dict()["tensors"])
    first.close()


def test_restarting_and_twins(two):
    engine, local = ClusterEngine(tiny(), trainers=two, reference=True), LocalEngine(tiny(), reference=True)
    batch = batch_of()
    for each in (engine, local):
        steps(each, (0,))
        each.restart()
    same(engine.forward(batch, reference=True)["logp"], engine.forward(batch)["logp"], "the reference after a restart")
    twin = engine.twin(reference=True, clip_norm=0.5)
    for each in (engine, local):
        steps(each, (1,))
    same(engine.forward(batch)["logp"], local.forward(batch)["logp"], "a step after a restart")
    same(twin.forward(batch)["logp"], twin.forward(batch, reference=True)["logp"], "a twin's reference")
    assert not torch.equal(twin.forward(batch)["logp"], engine.forward(batch)["logp"])
    twin.close()
    engine.close()


# --- asking and refusing -----------------------------------------------------------------------------------------


def test_asks_and_samples_as_one_process_does(two):
    engine = ClusterEngine(partial(TinyModel.new, CONFIG, seed=1), trainers=two)
    local = LocalEngine(TinyModel.new(CONFIG, seed=1))
    requests = [Sample([1, 2, 3], Sampling(max_tokens=6), seed=seed, stop=frozenset()) for seed in range(3)]
    questions = [Measure([1, 2, 3, 4], 2, names=("logp", "entropy"))]
    for _ in range(2):
        assert [one.ids for one in engine.sample(requests)] == [one.ids for one in local.sample(requests)]
        (got,), (want,) = engine.measure(questions), local.measure(questions)
        for name in want:
            assert got[name] == pytest.approx(want[name], abs=1e-5)
        for each in (engine, local):
            steps(each, (0,))
    nothing = batch_of().rows(torch.tensor([], dtype=torch.int64))
    assert engine.forward(nothing)["logp"].shape == (0, 0)
    engine.close()


def test_what_is_refused_leaves_the_ranks_as_they_are(two, tmp_path):
    engine = ClusterEngine(tiny(), trainers=two)
    batch = batch_of()
    before = engine.forward(batch)["logp"]
    broken = lambda out, batch: LossOut(out.logp_BT.sum() * float("nan"), {"mine": float("nan")})  # noqa: E731

    def mistaken(out, batch):
        raise KeyError("of the loss")

    long = example_batch(tiny(), rows=2, padding=30)
    long.attend_BT[:] = True
    for error, words, act in (
        (TrainingError, "mine", lambda: engine.forward_backward(batch, broken)),
        (KeyError, "of the loss", lambda: engine.forward_backward(batch, mistaken)),
        (TrainingError, "no gradient", lambda: engine.optim_step(learning_rate=0.1)),
        (InputError, "learning rate", lambda: engine.optim_step(learning_rate=-0.1)),
        (InputError, "the model reads 20", lambda: engine.forward(long)),
        (InputError, "critic=True", lambda: engine.forward(batch, names=("value",))),
        (InputError, "reference=True", lambda: engine.forward(batch, reference=True)),
        (CheckpointError, "no checkpoint", lambda: engine.load(tmp_path / "nowhere")),
    ):
        with pytest.raises(error, match=words):
            act()
        assert torch.equal(engine.forward(batch)["logp"], before)
    engine.forward_backward(batch, example_loss)
    with pytest.raises(InputError, match="after optim_step"):
        engine.save(tmp_path / "x")
    engine.optim_step(learning_rate=0.0)
    with pytest.raises(InputError, match="no tiny model|cannot"):
        ClusterEngine(partial(TinyModel.load, tmp_path), trainers=two)
    assert torch.equal(engine.forward(batch)["logp"], before), "ranks go on after a model that could not be loaded"
    with pytest.raises(InputError, match="clip_norm"):
        ClusterEngine(tiny(), trainers=two, clip_norm=0.0)
    engine.close()


def test_a_gradient_that_is_not_finite_is_named(two):
    engine = ClusterEngine(tiny(), trainers=two)
    batch = batch_of()
    before = engine.forward(batch)["logp"]
    steep = lambda out, batch: LossOut(torch.where(batch.mask_BT, out.logp_BT * 1e300, 0.0).sum(), {})  # noqa: E731
    engine.forward_backward(batch, steep)
    with pytest.raises(TrainingError, match="overflows|not finite|gradient norm is"):
        engine.optim_step(learning_rate=0.1)
    assert engine.version == 0 and torch.equal(engine.forward(batch)["logp"], before)
    with pytest.raises(TrainingError, match="no gradient"):
        engine.optim_step(learning_rate=0.1)
    engine.close()


# --- faults ------------------------------------------------------------------------------------------------------


def gone(pids, seconds=20.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    "sent, words", [(signal.SIGKILL, "rank 1 died in 'backward'"), (signal.SIGSTOP, "rank 1 has said nothing")]
)
def test_a_rank_that_is_killed_or_hangs_in_backward_ends_all(sent, words):
    with ClusterEngine(tiny(), trainers=2, device="cpu", timeout=PATIENCE) as engine:
        pids = engine.ranks.pids
        assert len(pids) == 2 and all(map(alive, pids))

        def loss(out, batch):
            found = example_loss(out, batch)
            os.kill(pids[1], sent)
            return found

        engine.forward(batch_of())
        engine.ranks.timeout = 3.0
        with pytest.raises(TrainingError, match=f"{words}.*handaxe resume"):
            engine.forward_backward(batch_of(), loss)
        assert gone(pids)
        with pytest.raises(TrainingError, match=words):  # and says so again when it is asked later
            engine.forward(batch_of())


SCRIPT = """
import sys, time
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.models.tiny import TinyConfig, TinyModel

def model():  # of a script, which ranks cannot import
    return TinyModel.new(TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20))

engine = ClusterEngine(model, trainers=1, device="cpu")
print(*engine.ranks.pids, flush=True)
if len(sys.argv) > 1:
    raise ValueError("of the script")
time.sleep(300)
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT, None])
def test_no_rank_outlives_its_driver(tmp_path, end):
    (tmp_path / "script.py").write_text(SCRIPT)
    words = [sys.executable, str(tmp_path / "script.py"), *(["fails"] if end is None else [])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as script:
        pids = list(map(int, script.stdout.readline().split()))
        assert pids, script.stderr.read()
        if end is not None:
            script.send_signal(end)
        assert ("of the script" if end is None else "") in script.stderr.read()
    assert gone(pids)
