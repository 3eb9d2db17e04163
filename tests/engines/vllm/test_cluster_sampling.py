"""ClusterEngine with two training ranks and a real vLLM server."""

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
from handaxe.models.chat_formats.compact import VOCAB_SIZE, Compact
from handaxe.models.huggingface import load_pretrained
from handaxe.testing.engine_case import example_batch, example_loss
from handaxe.testing.engine_contract import check_engine
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
    """The only engine that starts a server, because a start takes minutes."""
    with case.small_servers() as running:
        servers = {"servers": running} if running else {"start_servers": 1, "server_options": case.SMALL}
        with ClusterEngine(make_model, trainers=two, timeout=900.0, **servers) as engine:
            engine.number = 0
            yield engine


@pytest.fixture
def urls(first):
    """The address of the server of `first`, for engines that use running servers."""
    return [server.url for server in first._servers.states.servers]


def check_equal_to_one_process(engine):
    """Check that samples before each step and the log-probs at the end equal those of one process."""
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


def test_started_server_samples_the_trained_weights(first):
    check_equal_to_one_process(first)


def test_running_server_samples_the_trained_weights(two, urls):
    with ClusterEngine(make_model(), trainers=two, servers=urls) as engine:
        check_equal_to_one_process(engine)


def is_sleeping(engine):
    (server,) = engine._servers.states.servers
    return server.http.get("/is_sleeping")["is_sleeping"]


def test_colocated_server_sleeps_while_the_ranks_train(two, urls):
    """vLLM on a CPU pauses and discards its caches, but keeps the memory."""
    with ClusterEngine(make_model(), trainers=two, servers=urls, colocate=True) as engine:
        check_equal_to_one_process(engine)
        assert is_sleeping(engine)
        engine.sample([Sample([1, 2, 3], Sampling(max_tokens=2), 0, frozenset())])
        assert not is_sleeping(engine)


def test_running_turns_continue_after_a_sleep(two, urls):
    requests = [Sample([1 + n, 2, 3], Sampling(max_tokens=150), n, frozenset()) for n in range(4)]
    with ClusterEngine(make_model(), trainers=two, servers=urls, colocate=True) as engine:
        stream = engine.stream()
        for request in requests:
            stream.submit(request)
        done = dict(stream.poll(0.1))
        assert len(stream), "no turn is running"
        engine.measure([Measure([5, 6, 7], 1)])
        assert is_sleeping(engine)
        while len(stream):
            done.update(stream.poll(1.0))
    assert [done[n].ids for n in range(4)] == [one.ids for one in LocalEngine(make_model()).sample(requests)]


class Shared(ClusterEngine):
    """An engine sampled by the server of another engine; starting a server takes minutes."""

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


def test_two_ranks_with_server_pass_the_engine_contract(first, two, tmp_path, monkeypatch):
    fleet = SimpleNamespace(engine=first, count=0, servers=first._servers)
    policy = first._servers.policy._replace(
        version=lambda: fleet.engine.version,
        stamp=lambda: (fleet.engine.number, fleet.engine.version, fleet.engine._weight_loads),
        gather=lambda: dict(fleet.engine.iter_served_weights()),
        score=lambda ids, start=1, images=(): fleet.engine.measure([Measure(ids, start, images=images)])[0]["logp"],
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
        weights=lambda engine: dict(engine.iter_weights()),
        reference=True,
    )
    assert len(checks) == 19


@pytest.fixture
def folder(small_llamas, tmp_path):
    """The folder of a model for the command line, large enough for vLLM's attention."""
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
"""A method with a reward that varies even for an untrained policy, so that there is an optimiser step."""


def test_commands_train_resume_and_evaluate_with_servers(folder, tmp_path, capsys, monkeypatch):
    (tmp_path / "own_odd.py").write_text(OWN)
    page = '[[methods]]\nname = "odd"\nworld = "arithmetic"\nsettings = { max_tokens = 8 }\n'
    (tmp_path / "paper.toml").write_text(page)
    monkeypatch.chdir(tmp_path)
    small = ["--groups", "2", "--group-size", "4", "--held-out", "2", "--quiet"]
    loaded = load_pretrained(folder)
    with case.started(start_servers=1, model=loaded) as fleet:
        fleet.servers.push()
        machines = ["--trainers", "1", "--servers", fleet.servers.states.servers[0].url]
        command = ["train", "own_odd:odd", "--model", str(folder), *small, "--steps", "2", *machines]
        assert main([*command, "--out", str(tmp_path / "run")]) == 0
        assert main(["resume", str(tmp_path / "run"), "--steps", "3", "--quiet", *machines]) == 0
        with RunRecord.open(tmp_path / "run") as record:
            steps = list(record.metrics())
            assert record.steps() == [0, 1, 2]
        assert [step["push_servers"] for step in steps if "push_servers" in step] == [1.0] * 3
        assert all(step["push_gap"] < 1e-3 for step in steps if "push_gap" in step)
        assert main(["eval", str(tmp_path / "run"), "--tasks", "2", *machines]) == 0
    assert "pass@1" in capsys.readouterr().out
    processes_before = {child.pid for child in psutil.Process().children(recursive=True)}
    options = f"--server-options={shlex.join(case.SMALL)}"
    with case.small_servers():  # with a server started and stopped by the command
        words = ["resume", str(tmp_path / "run"), "--steps", "4", "--quiet"]
        assert main([*words, "--servers", "colocated", options]) == 0
        assert main(["eval", str(tmp_path / "run"), "--tasks", "2", "--servers", "1", options]) == 0
    with RunRecord.open(tmp_path / "run") as record:
        assert record.steps() == [0, 1, 2, 3]
    assert "pass@1" in capsys.readouterr().out
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= processes_before


# --- training --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained_policy():
    """A function that returns copies of a policy that mostly calls the calculator and repeats the result."""
    demonstrations = []
    for question, answer in QUESTIONS.items():
        call = ToolCall("calculator", {"expression": question})
        turns = [Message("assistant", "", (call,)), Message("tool", answer), Message("assistant", answer)]
        messages = [Message("user", question), *turns]
        demonstrations.append(trajectory_from_messages(Compact(), messages, [calculator.schema]))
    engine = LocalEngine(make_model())
    batch = make_batch([as_rated(demonstrations)], pad_id=engine.pad_id)
    for _ in range(60):
        engine.forward_backward(batch, cross_entropy())
        engine.optim_step(learning_rate=1e-3)
    weights = engine.model.module.state_dict()

    def copy():
        model = make_model()
        model.module.load_state_dict(weights)
        return model

    return copy


def run_training(engine, out, **pace):
    """Train three steps with a calculator; returns gradient norms and trajectories by step."""
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
def test_tool_training_equals_one_process(urls, two, trained_policy, tmp_path, pace):
    want, one_process = run_training(LocalEngine(trained_policy()), tmp_path / "one", **pace)
    with ClusterEngine(trained_policy(), trainers=two, servers=urls) as engine:
        got, played = run_training(engine, tmp_path / "ranks", **pace)
    first = min(want)  # with segments, the first steps may train nothing
    assert list(played) == [0, 1, 2] and ids(played[first]) == ids(one_process[first]), "equal before the first update"
    assert got[first] == pytest.approx(want[first], rel=1e-4)
    replies = [reply for one in played[first] for turn in one.turns for reply in turn.replies]
    assert any(reply.name == "calculator" and reply.status == "ok" for reply in replies), "the example calls the tool"
    versions_by_step = {step: [policy_versions(one) for one in trajectories] for step, trajectories in played.items()}
    for step, versions in versions_by_step.items():
        assert all(max(each) <= step for each in versions)
        if "segment_tokens" not in pace:
            assert all(min(each) >= step - pace.get("staleness", 0) for each in versions)
    if "segment_tokens" in pace:  # staleness of segments is unbounded
        assert any(min(each) < max(each) for each in versions_by_step[1]), "the example carries a rollout over a step"


def policy_versions(trajectory):
    """Check a trajectory and return the versions of its policy tokens."""
    check(trajectory)
    return [v for one in trajectory.sequences for v in one.version[one.author == Author.POLICY].tolist()]
