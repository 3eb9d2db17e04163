"""ClusterEngine equals LocalEngine; faults of ranks. Tests that leave the ranks running share them."""

import inspect
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from helpers import processes
from helpers.reward_models import labelled_group
from safetensors.torch import load as read_tensors

from handaxe.core.batch import LossOut
from handaxe.core.errors import CheckpointError, InputError, TrainingError
from handaxe.core.heads import HEAD, Head
from handaxe.core.images import Image
from handaxe.core.records import Sampling
from handaxe.core.requests import Measure, Sample
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.reward_model import reward_model
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.engine_case import example_batch, example_loss
from handaxe.testing.engine_contract import check_engine

CONFIG = TinyConfig(vocab_size=24, width=16, layers=2, heads=2, max_length=20)
PATIENCE = 300.0


def tiny():
    return TinyModel(TinyModel.new(CONFIG, seed=1).module.double(), pad_id=0)


def test_every_option_of_the_local_engine_is_one_of_the_cluster():
    """Options of a run, such as --engine.prefill-chunk, are passed to either engine."""
    local = set(inspect.signature(LocalEngine.__init__).parameters)
    assert local - set(inspect.signature(ClusterEngine.__init__).parameters) <= {"model"}


def batch_from_rows(rows=5, seed=0):
    batch = example_batch(tiny(), rows=rows, seed=seed)
    return batch.map(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)


def coupled_loss(out, batch):
    """A loss over log-probs, entropies and values that couples the rows."""
    value, metrics, _ = example_loss(out, batch)
    together = torch.where(batch.mask_BT, out.logp_BT, 0.0).sum(1).logsumexp(0)
    if out.value_BT is not None:
        value = value + torch.where(batch.mask_BT, (out.value_BT - batch.adv_BT) ** 2, 0.0).sum() / len(batch)
    return LossOut(value + together / batch.denominators.tokens, metrics)


def gradient(engine):
    found = read_tensors(engine.ranks.call(engine._key, "gather", "gradient")[0])
    return {name.removeprefix("weights."): g for name, g in found.items()}


def weights(engine):
    return dict(engine.iter_weights())


def picture(shade):
    return Image.of(np.random.default_rng(shade).integers(0, 255, (8, 12, 3), np.uint8))


def vision():
    return TinyModel(TinyModel.new(replace(CONFIG, patch=4), seed=1).module.double(), pad_id=0)


def batch_with_images(rows=4, *, shown=(0,)):
    """A batch whose rows `shown` begin with an image of 6 tokens, each another one; row 0's stands twice."""
    batch, images = batch_from_rows(rows), [picture(row) for row in shown]
    ids_BT, mask_BT = batch.ids_BT.clone(), batch.mask_BT.clone()
    attend_BT = torch.ones_like(batch.attend_BT)
    for row, image in zip(shown, images):
        ids_BT[row, :6] = torch.tensor(image.ids(6))
        mask_BT[row, :7] = False
    return replace(batch, ids_BT=ids_BT, mask_BT=mask_BT, attend_BT=attend_BT, images=(*images, picture(99)))


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


def same(got, want, subject):
    scale = max(1.0, float(want.abs().max())) if want.numel() else 1.0
    torch.testing.assert_close(got, want, rtol=0, atol=1e-12 * scale, msg=lambda message: f"{subject}: {message}")


def check_equal_steps(ranks, make, rows=(5, 2, 1), steps=3, **options):
    """Check loss, measures, gradient, gradient norm and weights of some steps against one process."""
    one = LocalEngine(make(), **options)
    with ClusterEngine(make(), trainers=ranks, micro_batch_rows=2, **options) as several:
        for step in range(steps):
            batch = batch_from_rows(rows[step % len(rows)], seed=step)
            for reference in {False, options.get("reference", False)}:
                names = ("logp", "entropy", "collision")
                names += ("value",) if options.get("critic") and not reference else ()
                want = one.forward(batch, reference=reference, names=names)
                for name, got_BT in several.forward(batch, reference=reference, names=names).items():
                    same(got_BT, want[name], f"{name}, reference {reference}")
            for engine_batch in (batch, batch_from_rows(2, seed=9)):  # gradients of several batches add up
                want, got = (engine.forward_backward(engine_batch, coupled_loss) for engine in (one, several))
                same(got.value, want.value, "the loss")
                assert got.metrics == pytest.approx(want.metrics, abs=1e-12)
            want = {name.removeprefix("weights."): p.grad for name, p in one._trained.items() if p.grad is not None}
            got = gradient(several)
            assert got.keys() == want.keys()
            for name in want:
                same(got[name], want[name], f"the gradient of {name}")
            rates = {"learning_rate": 1e-2}
            if options.get("critic"):  # only the critic takes the first step
                rates = {"learning_rate": 1e-2 * min(step, 1), "critic_rate": 2e-2}
            norms = [engine.optim_step(**rates)["grad_norm"] for engine in (one, several)]
            assert norms[1] == pytest.approx(norms[0], abs=1e-12)
        found = weights(several)
        for name, p in one.model.module.named_parameters():
            same(found[name], p.detach(), f"{name} after {steps} steps")
        return several.ranks.call(several._key, "count", "local_sizes")


CASES = {
    "trees": {},
    "rows": {"packing": "rows"},
    "several packs": {"pack_tokens": 8},
    "gradient checkpointing": {"gradient_checkpointing": True},
    "critic and reference": {"critic": True, "reference": True, "weight_decay": 0.1, "clip_norm": 0.01},
}


@pytest.mark.parametrize("count", ["two", pytest.param("three", marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_ranks_equal_one_process(request, count, case):
    ranks = request.getfixturevalue(count)
    sizes = check_equal_steps(ranks, tiny, **CASES[case])
    total = sum(p.numel() for p in tiny().module.parameters())
    share = 1 / len(sizes) + 0.1
    assert len(sizes) == {"two": 2, "three": 3}[count]
    for rank in sizes:
        assert rank["parameters"] <= total * share and rank["moments"] <= 2 * total * share


def small_policy():
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=0)
    model.module.double()
    return model


HEADS = {
    "reward": Head(3, hidden=(8,), init="normal"),
    "frozen": Head(at="before", trunk="frozen", init="normal", seed=1),
}


def scored(*names, policy=False):
    """Squared distance of the scores of heads to 1, and optionally a policy loss."""

    def loss(out, batch):
        value, metrics, _ = coupled_loss(out, batch) if policy else LossOut(torch.zeros((), dtype=torch.float64), {})
        for name in names:
            each_BT = ((out.heads[name] - 1) ** 2).sum(-1)
            value = value + torch.where(batch.mask_BT, each_BT, 0.0).sum() / batch.denominators.tokens
        return LossOut(value, metrics)

    return loss


@pytest.mark.slow
@pytest.mark.parametrize("count", ["two", "three"])
def test_heads_on_ranks_equal_one_process(request, count):
    """Also a head with a frozen trunk alone, whose steps leave the model as it is, weight decay included."""
    options = {"heads": HEADS, "critic": True, "weight_decay": 0.1}
    one = LocalEngine(tiny(), **options)
    with ClusterEngine(tiny(), trainers=request.getfixturevalue(count), micro_batch_rows=2, **options) as several:
        measures = [HEAD + name for name in HEADS]
        for step, (rows, loss) in enumerate(
            [(5, scored("frozen")), (2, scored("reward", policy=True)), (1, scored(*HEADS)), (3, scored("frozen"))]
        ):
            batch = batch_from_rows(rows, seed=step)
            want, got = (engine.forward(batch, names=("logp", *measures)) for engine in (one, several))
            assert got["head/reward"].shape == (*batch.ids_BT.shape, 3)
            for name in want:
                same(got[name], want[name], f"{name} at step {step}")
            want, got = (engine.forward_backward(batch, loss) for engine in (one, several))
            same(got.value, want.value, f"the loss of step {step}")
            norms = [engine.optim_step(learning_rate=1e-2)["grad_norm"] for engine in (one, several)]
            assert norms[1] == pytest.approx(norms[0], abs=1e-12)
        want, got = one.state_dict()["tensors"], several.state_dict()["tensors"]
        assert want.keys() == got.keys() and any(name.startswith("heads.reward.") for name in got)
        for name in want:
            same(got[name], want[name], f"{name} after 4 steps")


def test_a_reward_model_on_ranks_equals_one_process(two):
    """Fitted on pairs, as a twin of the policy with a head."""
    groups = [labelled_group(seed) for seed in range(4)]
    scores = []
    with ClusterEngine(small_policy(), trainers=two) as policy:
        for engine in (policy, LocalEngine(small_policy())):
            judge = reward_model(head=Head(init="normal"), pairs=ordered(), learning_rate=0.01, fit_epochs=3)
            judge.begin(engine)
            before = np.concatenate([judge.score(group) for group, _ in groups])
            judge.fit(groups)
            scores.append(np.concatenate([judge.score(group) for group, _ in groups]))
            assert np.abs(scores[-1] - before).max() > 1e-3
    np.testing.assert_allclose(scores[0], scores[1], rtol=0, atol=1e-10)


@pytest.mark.slow
def test_heads_are_saved_loaded_initialized_and_copied(two, three, tmp_path):
    first, batch = ClusterEngine(tiny(), trainers=two, heads=HEADS), batch_from_rows()
    first.forward_backward(batch, scored(*HEADS))
    first.optim_step(learning_rate=1e-2)
    first.save(tmp_path / "saved")
    measures = [HEAD + name for name in HEADS]
    want = first.forward(batch, names=measures)
    fresh = LocalEngine(tiny(), heads=HEADS)
    with ClusterEngine(tiny(), trainers=three, heads=HEADS) as other:
        for engine in (other, fresh):
            engine.load(tmp_path / "saved")
            found = engine.forward(batch, names=measures)
            for name in measures:
                same(found[name], want[name], f"{name} of the checkpoint")
            engine.load_weights(tmp_path / "saved")
        for name in measures:  # initialized again
            same(other.forward(batch, names=measures)[name], fresh.forward(batch, names=measures)[name], name)
            assert (other.forward(batch, names=measures)[name] - want[name]).abs().max() > 1e-4
    with first.twin(heads={"values": Head(2)}) as twin:
        assert not twin.forward(batch, names=("head/values",))["head/values"].any()
        with pytest.raises(InputError, match="reward"):
            twin.forward(batch, names=("head/reward",))
    first.close()
    with pytest.raises(InputError, match="a head is named 'a.b'"):
        ClusterEngine(tiny(), trainers=two, heads={"a.b": Head()})


@pytest.mark.parametrize("packing", ["tree", "rows"])
@pytest.mark.parametrize("shown", [(0,), (0, 1, 2, 3)])
def test_ranks_read_images_like_one_process(two, shown, packing):
    """Also where one rank has no image at all, and the vision tower trains."""
    one = LocalEngine(vision(), packing=packing)
    with ClusterEngine(vision(), trainers=two, packing=packing, micro_batch_rows=2) as several:
        for _ in range(2):
            batch = batch_with_images(shown=shown)
            same(several.forward(batch)["logp"], one.forward(batch)["logp"], "logp")
            want, got = (engine.forward_backward(batch, coupled_loss) for engine in (one, several))
            same(got.value, want.value, "the loss")
            found = gradient(several)
            for name, p in one._trained.items():
                same(found[name.removeprefix("weights.")], p.grad, f"the gradient of {name}")
            assert found["vision.stem.0.weight"].abs().max() > 0
            for engine in (one, several):
                engine.optim_step(learning_rate=1e-2)
        sent = [len(sender._held.images) for sender in several._images]
        assert sum(sent) == len(shown)  # each image went to the one rank that reads its row


@pytest.mark.slow
def test_two_ranks_pass_the_engine_contract(two, tmp_path):
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


# --- checkpoints -------------------------------------------------------------------------------------------------


def steps(engine, seeds):
    for seed in seeds:
        engine.forward_backward(batch_from_rows(seed=seed), example_loss)
        engine.optim_step(learning_rate=1e-2)


@pytest.mark.slow
def test_checkpoint_resumes_on_any_number_of_ranks_and_in_one_process(one, two, three, tmp_path):
    want = LocalEngine(tiny(), reference=True, critic=True)
    steps(want, range(4))
    parameters = dict(want.model.module.named_parameters())
    options = {"reference": True, "critic": True}

    def check_resumed(engine, folder):
        engine.load(folder)
        assert engine.version == 2
        steps(engine, (2, 3))
        found = weights(engine) if isinstance(engine, ClusterEngine) else dict(engine.model.module.named_parameters())
        for name, p in parameters.items():
            same(found[name].detach(), p.detach(), f"{name} of a resumed run")
        batch = batch_from_rows(seed=7)
        same(engine.forward(batch, reference=True)["logp"], want.forward(batch, reference=True)["logp"], "reference")

    first = ClusterEngine(tiny(), trainers=two, **options)
    steps(first, (0, 1))
    first.save(tmp_path / "cluster")
    for ranks in (one, two, three):
        with ClusterEngine(tiny(), trainers=ranks, **options) as engine:
            check_resumed(engine, tmp_path / "cluster")
    check_resumed(LocalEngine(tiny(), **options), tmp_path / "cluster")
    local = LocalEngine(tiny(), **options)
    steps(local, (0, 1))
    local.save(tmp_path / "local")
    check_resumed(first, tmp_path / "local")
    assert first.start_digest() != local.start_digest()
    first.load(tmp_path / "local")
    assert first.start_digest() == local.start_digest()
    saved = local.state_dict()
    steps(first, (5,))
    first.load_state_dict(saved)
    restored = first.state_dict()
    assert restored["version"] == 2 and restored["tensors"].keys() == saved["tensors"].keys()
    assert all(torch.equal(restored["tensors"][name], tensor) for name, tensor in saved["tensors"].items())
    with pytest.raises(CheckpointError, match="another engine"):
        ClusterEngine(tiny(), trainers=two).load(tmp_path / "local")
    first.load_weights(tmp_path / "local")
    assert first.version == 2 and not any(name.startswith("optimizer.") for name in first.state_dict()["tensors"])
    first.close()


def test_restart_and_twin_equal_one_process(two):
    engine, local = ClusterEngine(tiny(), trainers=two, reference=True), LocalEngine(tiny(), reference=True)
    batch = batch_from_rows()
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


# --- sampling, measuring, refusals -------------------------------------------------------------------------------


def test_sample_and_measure_equal_one_process(two):
    engine = ClusterEngine(partial(TinyModel.new, CONFIG, seed=1), trainers=two)
    local = LocalEngine(TinyModel.new(CONFIG, seed=1))
    requests = [Sample([1, 2, 3], Sampling(max_tokens=6), seed=seed, stop=frozenset()) for seed in range(3)]
    measures = [Measure([1, 2, 3, 4], 2, names=("logp", "entropy"))]
    for _ in range(2):
        assert [one.ids for one in engine.sample(requests)] == [one.ids for one in local.sample(requests)]
        (got,), (want,) = engine.measure(measures), local.measure(measures)
        for name in want:
            assert got[name] == pytest.approx(want[name], abs=1e-5)
        for each in (engine, local):
            steps(each, (0,))
    empty = batch_from_rows().rows(torch.tensor([], dtype=torch.int64))
    assert engine.forward(empty)["logp"].shape == (0, 0)
    engine.close()


def test_refused_calls_leave_the_ranks_unchanged(two, tmp_path):
    engine = ClusterEngine(tiny(), trainers=two)
    batch = batch_from_rows()
    before = engine.forward(batch)["logp"]
    broken = lambda out, batch: LossOut(out.logp_BT.sum() * float("nan"), {"mine": float("nan")})  # noqa: E731

    def failing_loss(out, batch):
        raise KeyError("of the loss")

    long = example_batch(tiny(), rows=2, padding=30)
    long.attend_BT[:] = True
    for error, words, action in (
        (TrainingError, "mine", lambda: engine.forward_backward(batch, broken)),
        (KeyError, "of the loss", lambda: engine.forward_backward(batch, failing_loss)),
        (TrainingError, "no gradient", lambda: engine.optim_step(learning_rate=0.1)),
        (InputError, "learning rate", lambda: engine.optim_step(learning_rate=-0.1)),
        (InputError, "the model reads 20", lambda: engine.forward(long)),
        (InputError, "critic=True", lambda: engine.forward(batch, names=("value",))),
        (InputError, "reference=True", lambda: engine.forward(batch, reference=True)),
        (CheckpointError, "no checkpoint", lambda: engine.load(tmp_path / "nowhere")),
    ):
        with pytest.raises(error, match=words):
            action()
        assert torch.equal(engine.forward(batch)["logp"], before)
    engine.forward_backward(batch, example_loss)
    with pytest.raises(InputError, match="after optim_step"):
        engine.save(tmp_path / "x")
    engine.optim_step(learning_rate=0.0)
    with pytest.raises(InputError, match="no tiny model|cannot"):
        ClusterEngine(partial(TinyModel.load, tmp_path), trainers=two)
    assert torch.equal(engine.forward(batch)["logp"], before), "ranks stay usable after a failed load"
    with pytest.raises(InputError, match="clip_norm"):
        ClusterEngine(tiny(), trainers=two, clip_norm=0.0)
    engine.close()


def test_nonfinite_gradient_raises_and_changes_nothing(two):
    engine = ClusterEngine(tiny(), trainers=two)
    batch = batch_from_rows()
    before = engine.forward(batch)["logp"]
    steep = lambda out, batch: LossOut(torch.where(batch.mask_BT, out.logp_BT * 1e300, 0.0).sum(), {})  # noqa: E731
    engine.forward_backward(batch, steep)
    with pytest.raises(TrainingError, match="overflows|not finite|gradient norm is"):
        engine.optim_step(learning_rate=0.1)
    assert engine.version == 0 and torch.equal(engine.forward(batch)["logp"], before)
    with pytest.raises(TrainingError, match="no gradient"):
        engine.optim_step(learning_rate=0.1)
    engine.close()


class AwakeMemory:
    """Records, at each call of the ranks, whether the server uses its memory."""

    def __init__(self, engine, server):
        self.awake = []
        self._server, self._backend = server, engine.ranks._backend
        self._submit, self._backend.submit = self._backend.submit, self.submit

    def submit(self, rank, method, arguments):
        self.awake.append(len(self._server.asleep) < 2)
        return self._submit(rank, method, arguments)


def test_colocated_server_sleeps_while_the_ranks_compute(one):
    pytest.importorskip("starlette")
    pytest.importorskip("uvicorn")
    from helpers import small_vllm

    server = small_vllm.SmallVllm(TinyModel(TinyModel.new(CONFIG, seed=77).module.double(), pad_id=0))
    local = LocalEngine(tiny())
    requests = [Sample([1 + n, 2, 3], Sampling(max_tokens=8), n, frozenset()) for n in range(3)]
    with ClusterEngine(tiny(), trainers=one, servers=[server.url], colocate=True) as engine:
        memory = AwakeMemory(engine, server)
        for step in range(2):
            assert [c.ids for c in engine.sample(requests)] == [c.ids for c in local.sample(requests)]
            assert not server.asleep
            for each in (engine, local):
                each.forward_backward(batch_from_rows(seed=step), example_loss)
                each.optim_step(learning_rate=1e-2)
            assert server.asleep == {"weights", "kv_cache"}
        assert memory.awake and not any(memory.awake)
    assert one.before_call is None and not server.asleep
    server.stop()
    with pytest.raises(InputError, match="colocate=True needs servers"):
        ClusterEngine(tiny(), trainers=one, colocate=True)


# --- faults ------------------------------------------------------------------------------------------------------


def all_ended(pids, seconds=20.0):
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent_signal, words, advice",
    [
        (signal.SIGKILL, "rank 1 died in 'backward'", "exceeds the memory"),
        pytest.param(signal.SIGSTOP, "rank 1 did not answer", "a larger timeout=", marks=pytest.mark.slow),
    ],
)
def test_killed_or_suspended_rank_ends_all_ranks(sent_signal, words, advice):
    with ClusterEngine(tiny(), trainers=2, device="cpu", timeout=PATIENCE) as engine:
        pids = engine.ranks.pids
        assert len(pids) == 2 and all(map(alive, pids))

        def loss(out, batch):
            found = example_loss(out, batch)
            os.kill(pids[1], sent_signal)
            return found

        engine.forward(batch_from_rows())
        engine.ranks.timeout = 3.0
        with pytest.raises(TrainingError, match=f"{words}.*all ranks were ended.*{advice}"):
            engine.forward_backward(batch_from_rows(), loss)
        assert all_ended(pids)
        with pytest.raises(TrainingError, match=words):  # later calls raise the same error
            engine.forward(batch_from_rows())


SCRIPT = """
import sys, time
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.models.tiny import TinyConfig, TinyModel

def model():  # defined in a script, so that ranks cannot import it
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
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with processes.start(words, **pipes) as script:
        pids = list(map(int, script.stdout.readline().split()))
        assert pids, script.stderr.read()
        if end is not None:
            script.send_signal(end)
        assert ("of the script" if end is None else "") in script.stderr.read()
    assert all_ended(pids)
