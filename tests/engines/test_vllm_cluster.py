"""Two ranks that train, and a real vLLM server that samples from them."""

import shlex
from functools import partial
from types import SimpleNamespace

import psutil
import pytest
from helpers import training_world as world
from helpers import vllm_case as case
from safetensors.torch import load as read_tensors

from handaxe.cli import main
from handaxe.core.records import Author, Message, Sampling, ToolCall
from handaxe.core.requests import Measure, Sample
from handaxe.core.validation import check
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.cluster.ranks import Ranks
from handaxe.engines.local.engine import LocalEngine
from handaxe.losses.cross_entropy import cross_entropy
from handaxe.models.compact import VOCAB_SIZE, Compact
from handaxe.models.huggingface import load_pretrained
from handaxe.testing.engine import check_engine
from handaxe.testing.engine_case import example_batch, example_loss
from handaxe.tools.calculator import calculator
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord
from handaxe.training.sft.scripted import trajectory_from_messages
from handaxe.training.sft.supervised import as_rated

pytestmark = pytest.mark.vllm


make_model = partial(case.make_model, vocabulary=VOCAB_SIZE)
QUESTIONS = {"3 + 4": "7", "12 - 5": "7", "6 * 7": "42", "20 - 8": "12"}


@pytest.fixture(scope="module")
def two():
    ranks = Ranks(2, timeout=300.0, device="cpu")
    yield ranks
    ranks.close()


@pytest.fixture(scope="module")
def first(two):
    """An engine that has started its server; the only one, since that takes minutes."""
    with case.small_servers() as running:
        servers = {"servers": running} if running else {"start_servers": 1, "server_options": case.SMALL}
        with ClusterEngine(make_model, trainers=two, timeout=900.0, **servers) as engine:
            engine.number = 0
            yield engine


@pytest.fixture
def urls(first):
    """The address of that server, for engines to which it is one that runs already."""
    return [server.url for server in first._servers._servers]


def learns_as_one_process(engine):
    """What is sampled before each step is what one process samples, and the weights stay the same."""
    local = LocalEngine(make_model())
    requests = [Sample([1 + n, 2, 3], Sampling(max_tokens=12), n, frozenset()) for n in range(4)]
    for step in range(2):
        assert [one.ids for one in engine.sample(requests)] == [one.ids for one in local.sample(requests)]
        for each in (engine, local):
            each.forward_backward(example_batch(make_model(), seed=step), example_loss)
            metrics = each.optim_step(learning_rate=1e-3)
            assert each is local or (metrics["push_gap"] < 1e-3 and metrics["push_seconds"] > 0)
    row = [5, 6, 7, 8]
    got, want = (each.measure([Measure(row, 1)])[0]["logp"] for each in (engine, local))
    assert got == pytest.approx(want, abs=1e-4)


def test_an_engine_starts_a_server_and_pushes_what_it_has_learnt(first):
    learns_as_one_process(first)


def test_an_engine_pushes_what_it_has_learnt_to_a_server_that_runs(two, urls):
    with ClusterEngine(make_model(), trainers=two, servers=urls) as engine:
        learns_as_one_process(engine)


class Shared(ClusterEngine):
    """Samples by the server of another engine: starting one for each would take minutes."""

    def __init__(self, fleet, ranks, **options):
        super().__init__(make_model(), trainers=ranks, **options)
        self._fleet = fleet
        fleet.count += 1
        self.number = fleet.count

    def stream(self):
        return case.ServedStream(self._fleet, self)

    def sample(self, requests):
        self._fleet.engine = self
        return self._fleet.servers.sample(requests)


def test_two_ranks_and_a_server_pass_the_contract(first, two, tmp_path, monkeypatch):
    fleet = SimpleNamespace(engine=first, count=0, servers=first._servers)
    policy = first._servers.policy._replace(
        version=lambda: fleet.engine.version,
        mark=lambda: (fleet.engine.number, fleet.engine.version, fleet.engine._changes),
        gather=lambda: dict(fleet.engine.gather()),
        score=lambda ids: fleet.engine.measure([Measure(ids, 1)])[0]["logp"],
    )
    monkeypatch.setattr(first._servers, "policy", policy)

    def gradient(engine):
        found = read_tensors(engine.ranks.call(engine._key, "gather", "gradient")[0])
        return {name.removeprefix("weights."): g for name, g in found.items()}

    checks = check_engine(
        lambda: Shared(fleet, two, reference=True),
        make_model,
        folder=tmp_path,
        tolerance=1e-5,
        gradient=gradient,
        weights=lambda engine: dict(engine.pieces()),
        reference=True,
    )
    assert len(checks) == 19


@pytest.fixture
def folder(small_llamas, tmp_path):
    """A model to be named on the command line, large enough for vLLM's attention."""
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(small_llamas / "0")
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=600, **sizes)).save_pretrained(
        tmp_path / "model"
    )
    tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


OWN = """
from handaxe.methods.method import Method, replace
from handaxe.rewards.outcome import outcome


def odd(base: Method) -> Method:
    return replace(base, reward=outcome(lambda one: float(one.sequences[0].ids.sum() % 2)))
"""
"""What a policy without a lesson in it is nevertheless told apart by, so that there is a step."""


def test_the_command_line_trains_resumes_and_evaluates_with_servers(folder, tmp_path, capsys, monkeypatch):
    (tmp_path / "own_odd.py").write_text(OWN)
    page = '[[methods]]\nname = "odd"\nworld = "sums"\nsettings = { max_tokens = 8 }\n'
    (tmp_path / "paper.toml").write_text(page)
    monkeypatch.chdir(tmp_path)
    small = ["--groups", "2", "--group-size", "4", "--held-out", "2", "--quiet"]
    loaded = load_pretrained(folder)
    with case.started(start_servers=1, model=loaded) as fleet:
        fleet.servers.push()
        machines = ["--trainers", "1", "--servers", fleet.servers._servers[0].url]
        words = ["train", "own_odd:odd", "--model", str(folder), *small, "--steps", "2", *machines]
        assert main([*words, "--out", str(tmp_path / "run")]) == 0
        assert main(["resume", str(tmp_path / "run"), "--steps", "3", "--quiet", *machines]) == 0
        with RunRecord.open(tmp_path / "run") as record:
            steps = list(record.metrics())
            assert record.steps() == [0, 1, 2]
        assert [step["push_servers"] for step in steps if "push_servers" in step] == [1.0] * 3
        assert all(step["push_gap"] < 1e-3 for step in steps if "push_gap" in step)
        assert main(["eval", str(tmp_path / "run"), "--tasks", "2", *machines]) == 0
    assert "pass@1" in capsys.readouterr().out
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    own = ["--trainers", "1", "--servers", "1", f"--server-options={shlex.join(case.SMALL)}"]
    with case.small_servers():  # and with one that the command starts, and ends
        assert main(["eval", str(tmp_path / "run"), "--tasks", "2", *own]) == 0
    assert "pass@1" in capsys.readouterr().out
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


# --- training --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def taught():
    """A policy that mostly asks the calculator, and says what that answers; called, a copy of it."""
    shown = []
    for question, answer in QUESTIONS.items():
        call = ToolCall("calculator", {"expression": question})
        said = [Message("assistant", "", (call,)), Message("tool", answer), Message("assistant", answer)]
        shown.append(trajectory_from_messages(Compact(), [Message("user", question), *said], [calculator.schema]))
    engine = LocalEngine(make_model())
    batch = make_batch([as_rated(shown)], pad_id=engine.pad_id)
    for _ in range(60):
        engine.forward_backward(batch, cross_entropy())
        engine.optim_step(learning_rate=1e-3)
    weights = engine.model.module.state_dict()

    def copy():
        model = make_model()
        model.module.load_state_dict(weights)
        return model

    return copy


def trained(engine, out, **pace):
    """Three steps with a calculator; norms of the gradient and trajectories, by step."""
    roles = world.calculating(answers=QUESTIONS, engine=engine, format=Compact(), out=out, **pace)
    train(**roles)
    with RunRecord.open(out) as record:
        norms = {int(step["step"]): step["grad_norm"] for step in record.metrics() if "grad_norm" in step}
        return norms, {step: record.trajectories(step=step) for step in record.steps()}


def ids(trajectories):
    return sorted(sequence.ids.tolist() for one in trajectories for sequence in one.sequences)


@pytest.mark.parametrize(
    "pace", [{}, {"staleness": 1, "lockstep": False}, {"segment_tokens": 21}], ids=["plain", "ahead", "segments"]
)
def test_three_steps_with_a_calculator(urls, two, taught, tmp_path, pace):
    want, one_process = trained(LocalEngine(taught()), tmp_path / "one", **pace)
    with ClusterEngine(taught(), trainers=two, servers=urls) as engine:
        got, played = trained(engine, tmp_path / "ranks", **pace)
    first = min(want)  # segments may leave nothing to train on before
    assert list(played) == [0, 1, 2] and ids(played[first]) == ids(one_process[first]), "no step was taken before"
    assert got[first] == pytest.approx(want[first], rel=1e-4)
    replies = [reply for one in played[first] for turn in one.turns for reply in turn.replies]
    assert any(reply.name == "calculator" and reply.status == "ok" for reply in replies), "the example calls the tool"
    drawn = {step: [of_the_policy(one) for one in trajectories] for step, trajectories in played.items()}
    for step, versions in drawn.items():
        assert all(max(each) <= step for each in versions)
        if "segment_tokens" not in pace:
            assert all(min(each) >= step - pace.get("staleness", 0) for each in versions)
    if "segment_tokens" in pace:  # which have no bound
        assert any(min(each) < max(each) for each in drawn[1]), "the example carries an attempt over a step"


def of_the_policy(trajectory):
    """The versions of an attempt's tokens, once it is seen that the attempt is whole."""
    check(trajectory)
    return [v for one in trajectory.sequences for v in one.version[one.author == Author.POLICY].tolist()]
