import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import judged_run as run

from handaxe.core.batch import LossOut
from handaxe.core.errors import InputError
from handaxe.core.records import Group, Scores
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.attack_trials import LabCase
from handaxe.evaluation.scenes import make_scenes
from handaxe.judges.implicit_prm import implicit_prm
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.istar.right_against_wrong import right_against_wrong
from handaxe.papers.tool_star.fact_products import fact_products
from handaxe.testing.crash import kill_until_done
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.training.loop.batch import Row, pad
from handaxe.training.loop.train import train
from handaxe.training.record.run_record import RunRecord


def make_engine(*, seed=0, double=False, **options):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=seed)
    if double:
        model.module.double()
    return LocalEngine(model, **options)


CONTRACT = [
    {"engine": make_engine(reference=True), "learning_rate": 0.01},
    {"engine": make_engine(), "reference": "sampler", "pairs": right_against_wrong(), "learning_rate": 0.01},
    {"engine": make_engine(reference=True), "pairs": right_against_wrong(), "aggregate": "mean", "learning_rate": 0.01},
    {"engine": make_engine(reference=True), "aggregate": "min", "learning_rate": 0.01, "epochs": 2},
]


def prm_of_correct_and_wrong(world):
    """An implicit PRM trained on correct and wrong rollouts at 24 training tasks, and on no attack."""
    engine = LocalEngine(load("tiny").model, reference=True)
    judge = implicit_prm(engine=engine, learning_rate=3e-4, epochs=8)
    scenes = make_scenes(world, tasks=world.tasks("train", 48, 0), count=24)
    groups = [Group(one.task, (one.oracle, one.wrong)) for one in scenes]
    judge.fit([(group, world.correct(group)) for group in groups])
    return judge


LAB = [
    LabCase(
        "implicit_prm(), taught right and wrong",
        fact_products,
        prm_of_correct_and_wrong,
        model=True,
        why=(
            "The training data held correct and wrong answers and no attack, and texts unlike both "
            "score high. No learned judge should be the only reward; add negatives, such as the first "
            "sentences of answers in 2507.08794."
        ),
    ),
]


def crafted(engine, *turns, id="a"):
    """An attempt of turns of two tokens under `engine`, recorded with log-probs so that the log-ratios of each turn sum
    to the given numbers."""
    one = make_trajectory(texts=["x"] * len(turns), id=id)
    (logp,) = measured(engine, one)
    wanted = logp.copy()
    for turn, number in zip(one.turns, turns, strict=True):
        wanted[turn.start : turn.stop] -= (0.25 * number, 0.75 * number)
    (sequence,) = one.sequences
    return replace(one, sequences=(replace(sequence, logp=wanted),))


def measured(engine, trajectory, *, reference=False):
    """[T] a sequence: log-probs at the policy's tokens, one row a pass."""
    out = []
    for sequence in trajectory.sequences:
        batch = pad([Row(sequence, np.zeros(len(sequence)), 0, 0)], pad_id=engine.pad_id)
        out.append(engine.forward(batch, reference=reference)["logp"][0].double().numpy())
    return out


def sampled(engine, **more):
    return implicit_prm(engine=engine, reference="sampler", **more)


def labelled(group, *outcome):
    return [(group, Scores(np.array(outcome, np.float64)))]


def ragged(size=4):
    layouts = [["UUt pp tTt p"], ["Utppp", "UttTtpp"], ["Utp"], ["UUUtpp t p t ppp"]]
    members = [make_trajectory(layouts=own, id=f"r{i}", logp=-4.0 - 0.3 * i) for i, own in enumerate(layouts[:size])]
    return make_group(trajectories=members)


def opinionated(**more):
    """A trained judge in float64."""
    judge = implicit_prm(engine=make_engine(double=True, reference=True), learning_rate=0.02, beta=0.5, **more)
    for _ in range(3):
        judge.fit(labelled(ragged(), 1, 0, 1, 0))
    return judge


@pytest.mark.parametrize(("label", "loss"), [(1.0, 0.62096), (0.0, 0.77096)])
def test_steps_and_cross_entropy_match_the_docstring_example(label, loss):
    engine = make_engine(double=True)
    group = make_group(trajectories=[crafted(engine, 2.0, -1.0, 2.0)])
    judge = sampled(engine)
    np.testing.assert_allclose(judge.score_steps(group)[0], [0.1, -0.05, 0.1], atol=1e-6)
    np.testing.assert_allclose(judge.score(group), [0.15], atol=1e-6)
    assert judge.fit(labelled(group, label))["loss"] == pytest.approx(loss, abs=5e-6)


def test_pairs_with_mean_match_the_docstring_example():
    engine = make_engine(double=True)
    a, b = crafted(engine, 2.0, 4.0), crafted(engine, -2.0, 0.0, id="b")
    judge = sampled(engine, pairs=right_against_wrong(), aggregate="mean")
    group = make_group(trajectories=[a, b])
    np.testing.assert_allclose(judge.score(group), [0.15, -0.05], atol=1e-6)
    np.testing.assert_allclose(judge.compare([(a, b)]), [1 / (1 + math.exp(-0.2))], atol=1e-6)
    found = judge.fit(labelled(group, 1, 0))
    assert found["loss"] == pytest.approx(0.5981, abs=5e-5) and found["labels"] == 1
    assert sampled(make_engine(double=True), aggregate="min").score(group)[0] == pytest.approx(0.1, abs=1e-6)


def test_pairs_with_sum_equal_the_papers_form():
    engine = make_engine(double=True)
    group = make_group(trajectories=[crafted(engine, 2.0, 4.0), crafted(engine, -2.0, 0.0, id="b")])
    found = sampled(engine, pairs=right_against_wrong()).fit(labelled(group, 1, 0))
    assert found["loss"] == pytest.approx(math.log(1 + math.exp(-0.4)), abs=1e-6)


@pytest.mark.parametrize("reference", ["frozen", "sampler"])
def test_implicit_prm_equals_a_slow_loop_over_turns(reference):
    judge = opinionated()
    judge._reference = reference
    engine = judge._engine
    for one, own in zip(ragged(), judge.score_steps(ragged()), strict=True):
        logp, frozen = measured(engine, one), measured(engine, one, reference=True)
        for k, turn in enumerate(one.turns):
            total = 0.0
            for t in range(turn.start, turn.stop):
                before = frozen[turn.sequence][t] if reference == "frozen" else one.sequences[turn.sequence].logp[t]
                total += logp[turn.sequence][t] - before
            assert own[k] == pytest.approx(0.5 * total, abs=1e-5) and abs(own[k]) > 1e-3


@pytest.mark.parametrize(
    "more", [{}, {"pairs": right_against_wrong()}, {"pairs": right_against_wrong(), "aggregate": "mean"}]
)
def test_the_update_follows_the_gradient_of_the_loss(more, monkeypatch):
    """The gradient against central differences of the documented loss of `score`."""
    judge, gradients = opinionated(**more), {}
    group, labels = ragged(), np.array([1.0, 0.0, 0.0, 1.0])
    parameters = dict(judge._engine.model.module.named_parameters())

    def keep(*, learning_rate):
        gradients.update({name: p.grad.clone() for name, p in parameters.items()})
        judge._engine._drop_gradient()
        return {}

    monkeypatch.setattr(judge._engine, "optim_step", keep)
    judge.fit(labelled(group, *labels))

    def loss():
        score_G = judge.score(group)
        if not more:
            return np.mean([math.log1p(math.exp(-s if right else s)) for s, right in zip(score_G, labels)])
        ends = [(a, b) for a, x in zip(score_G, labels) for b, y in zip(score_G, labels) if x > y]
        return np.mean([math.log1p(math.exp(b - a)) for a, b in ends])

    rng, seen = np.random.default_rng(0), 0
    for name, parameter in parameters.items():
        flat = parameter.detach().view(-1)
        i, eps = int(gradients[name].abs().argmax()), 1e-5
        for place in (i, int(rng.integers(len(flat)))):
            ends = []
            for sign in (1, -1):
                flat[place] += sign * eps
                ends.append(loss())
                flat[place] -= sign * eps
            wanted = (ends[0] - ends[1]) / (2 * eps)
            assert gradients[name].view(-1)[place].item() == pytest.approx(wanted, rel=1e-4, abs=1e-7), name
            seen += abs(wanted) > 1e-4
    assert seen > 5


@pytest.mark.parametrize(("sums", "wanted"), [((3.0, 1.0), 2.0), ((3.0, -5.0), 0.0)])
def test_an_anchored_loss_reads_the_mean_log_ratio_from_zero(sums, wanted):
    engine, seen = make_engine(double=True), []

    def loss(out, batch):
        seen.append(batch.extras["anchor"])
        return LossOut(0.0 * out.logp_BT[batch.mask_BT].sum(), {})

    group = make_group(trajectories=[crafted(engine, own - 1.0, 1.0, id=str(own)) for own in sums])
    sampled(engine, loss=loss, anchored=True, micro_batch_rows=1).fit(labelled(group, 1, 0))
    assert len(seen) == 2
    for anchor_BT in seen:
        np.testing.assert_allclose(anchor_BT.numpy(), wanted, atol=1e-6)


def test_unknown_outcomes_and_ties_train_nothing():
    judge = implicit_prm(engine=make_engine(reference=True))
    before = judge.state_dict()
    assert judge.fit(labelled(ragged(), *[np.nan] * 4))["labels"] == 0
    paired = implicit_prm(engine=make_engine(reference=True), pairs=right_against_wrong())
    assert paired.fit(labelled(ragged(), 1, 1, 1, 1)) == {"labels": 0.0, "tokens_learned": 0.0}
    assert same(before, judge.state_dict()) and judge.fit(labelled(ragged(), 1, np.nan, 0, np.nan))["labels"] == 2


def test_rewards_of_turns_are_no_labels():
    judge = implicit_prm(engine=make_engine(reference=True), channel="correct")
    scores = Scores(
        np.full(4, 9.0), tuple(np.ones(len(one.turns)) for one in ragged()), {"correct": np.array([1.0, 0, 0, 0])}
    )
    assert judge._labels(scores).tolist() == [1, 0, 0, 0]
    with pytest.raises(InputError, match="no channel 'correct'; there are none"):
        judge.fit(labelled(ragged(), 1, 0, 0, 0))


def test_metrics_are_of_scores_before_the_update():
    judge = opinionated()
    group, scores = ragged(), Scores(np.array([1.0, 0.0, 1.0, 0.0]))
    steps, score_G = judge.score_steps(group), judge.score(group)
    told = dict(judge.learn([make_rated(group=group, scores=scores)], step=0))
    right, wrong = np.concatenate([steps[0], steps[2]]), np.concatenate([steps[1], steps[3]])
    assert told["step_gap"] == pytest.approx(right.mean() - wrong.mean(), abs=1e-9)
    assert told["gain"] == pytest.approx((score_G.argmax() in (0, 2)) - 0.5)
    tokens = sum(len(s) for one in group for s in one.sequences)
    assert told["tokens_learned"] == tokens
    judge.score(group)
    again = judge.learn([make_rated(group=group, scores=scores)], step=1)
    assert again["tokens_read"] == 2 * tokens  # asked once, and once as it learned
    lone = judge.learn([make_rated(group=ragged(1), scores=Scores(np.ones(1)))], step=2)
    assert lone["step_gap"] == 0 and lone["gain"] == 0
    assert dict(judge.learn([], step=3)) == {
        "step_gap": 0.0, "gain": 0.0, "labels": 0.0, "tokens_learned": 0.0, "tokens_read": 0.0
    }  # fmt: skip


def test_forced_tokens_count_with_a_reference_log_prob():
    one = make_trajectory(layouts=["Utfpp"], logp=-6.0)
    known = make_trajectory(layouts=["Utfpp"], logp=-6.0, features={"old_logp": -6.0})
    engine = make_engine(double=True, reference=True)
    (logp,) = measured(engine, one)
    for trajectory, first in ((one, 1), (known, 0)):
        judge = sampled(make_engine(double=True, reference=True))
        (own,) = judge.score_steps(make_group(trajectories=[trajectory]))
        assert own[0] == pytest.approx(0.05 * (logp[2 + first : 5] + 6.0).sum(), abs=1e-6)
        assert judge.fit(labelled(make_group(trajectories=[trajectory]), 1))["labels"] == 1


def test_log_ratios_use_the_temperature_of_the_reference():
    hot = [replace(turn, sampling=replace(turn.sampling, temperature=2.0)) for turn in ragged()[0].turns]
    group = make_group(trajectories=[replace(ragged()[0], turns=tuple(hot))])
    plain = make_group(trajectories=[ragged()[0]])
    judge = opinionated()
    np.testing.assert_array_equal(judge.score(group), judge.score(plain))
    judge._reference = "sampler"
    assert abs(judge.score(group)[0] - judge.score(plain)[0]) > 1e-3


def test_begin_twins_the_policy_once():
    policy, other = make_engine(), make_engine(seed=1)
    judge = implicit_prm(learning_rate=0.01)
    with pytest.raises(InputError, match="no model yet"):
        judge.score(ragged())
    assert judge.state_dict() == {"engine": None}
    judge.begin(policy)
    judge.begin(other)
    weights = judge.state_dict()["engine"]["tensors"]
    for name, value in policy.model.module.state_dict().items():
        assert weights[f"weights.{name}"].equal(value) and weights[f"reference.{name}"].equal(value)
    np.testing.assert_array_equal(judge.score(ragged()), np.zeros(4))
    with pytest.raises(InputError, match="ScriptedEngine has no twins"):
        implicit_prm().begin(ScriptedEngine(run.world.FORMAT, run.world.calls_then_answers))


@pytest.mark.parametrize("kind", ["pairs", "outcomes"])
def test_judge_and_policy_train_separately(kind):
    policy = run.world.make_engine()
    judge, arguments = run.parts(kind, engine=policy, steps=3)
    seen = []

    class Watched:
        """The judge; keeps the weights of both before and after it learns."""

        def __getattr__(self, name):
            return getattr(judge, name)

        def learn(self, groups, *, step):
            told = [run.world.weights(policy), run.tensors(judge)]
            found = judge.learn(groups, step=step)
            seen.append([told, [run.world.weights(policy), run.tensors(judge)]])
            return found

        def state_dict(self):
            return judge.state_dict()

        def load_state_dict(self, state):
            judge.load_state_dict(state)

    judge.begin(policy)
    first = run.tensors(judge)
    train(**arguments | {"learners": [Watched()]})
    for (policy_before, judge_before), (policy_after, judge_after) in seen:
        assert run.world.same(policy_before, policy_after) and not run.world.same(judge_before, judge_after)
        unmoved = {name: value for name, value in judge_after.items() if name.startswith("reference.")}
        assert run.world.same(unmoved, {name: first[name] for name in unmoved}) and bool(unmoved) == (
            kind == "outcomes"
        )
    for (_, one), (two, _) in zip(seen, seen[1:]):
        assert not run.world.same(one[0], two[0]) and run.world.same(one[1], two[1])  # the policy's own update


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pairs", "outcomes"])
def test_a_run_killed_while_the_judge_learns_resumes_to_the_bit(kind, tmp_path):
    steps, pause = 6, 0.4  # with pauses that outweigh the machine's speed, several kills fall into a run anywhere
    (tmp_path / "whole").mkdir()
    run.resume(tmp_path / "whole", kind, steps, 0.0)
    kills = kill_until_done(
        Path(run.__file__), "resume", (tmp_path / "run", kind, steps, pause), after=[0.9, 0.5, 1.1, 0.7, 1.3]
    )
    whole, killed = (torch.load(tmp_path / name / "final.pt") for name in ("whole", "run"))
    assert kills >= 3
    for one, other in zip(whole, killed, strict=True):
        assert run.world.same(one, other)
    with RunRecord.open(tmp_path / "run") as record, RunRecord.open(tmp_path / "whole") as reference:
        names = [name for name in reference.metrics()[0] if name.startswith("learner/implicit_prm")]
        assert len(names) > 6
        for one, other in zip(record.metrics(), reference.metrics(), strict=True):
            assert [one[name] for name in names if name in one] == [other[name] for name in names if name in other]


def same(a, b):
    """Compare two states of a judge bitwise."""
    return run.world.same(a["engine"]["tensors"], b["engine"]["tensors"])


def test_arguments_out_of_range_are_errors():
    for wrong in ({"beta": 0.0}, {"epochs": 0}, {"micro_batch_rows": 0}):
        with pytest.raises(InputError, match="beta above 0"):
            implicit_prm(**wrong)
    for wrong in ({"reference": "old"}, {"aggregate": "max"}):
        with pytest.raises(InputError, match="frozen or sampler"):
            implicit_prm(**wrong)
