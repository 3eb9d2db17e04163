"""Reward models: places of scores, both kinds of learning against loops, batches, frozen ones, and a run with one."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.reward_models import labelled_group, make_engine

from handaxe.core.errors import InputError
from handaxe.core.heads import Head
from handaxe.core.records import Group, Scores
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.attack_trials import LabCase
from handaxe.evaluation.scenes import make_scenes
from handaxe.judges.reward_model import reward_model
from handaxe.losses.preference.bradley_terry import bradley_terry
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import load
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.tool_star.fact_products import fact_products
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.testing.scripted_engine import ScriptedEngine

CONTRACT = [
    {"engine": make_engine(), "learning_rate": 0.01},
    {"engine": make_engine(), "pairs": ordered(), "learning_rate": 0.01},
    {"engine": make_engine(), "reads": "turns", "aggregate": "min", "squash": True, "learning_rate": 0.01},
    {"engine": make_engine(head=Head(3, hidden=(8,), init="normal")), "pairs": ordered(), "output": 1,
     "reads": "turns", "aggregate": "mean", "learning_rate": 0.01},
    {"engine": make_engine(), "reads": "replies", "aggregate": "max", "squash": True, "learning_rate": 0.01},
]  # fmt: skip


def taught_right_and_wrong(world):
    """A reward model trained on correct and wrong rollouts at 24 training tasks, and on no attack."""
    engine = LocalEngine(load("tiny").model, heads={"reward": Head()})
    judge = reward_model(engine=engine, pairs=ordered(), learning_rate=3e-4, epochs=8)
    scenes = make_scenes(world, tasks=world.tasks("train", 48, 0), count=24)
    groups = [Group(one.task, (one.oracle, one.wrong)) for one in scenes]
    judge.fit([(group, world.correct(group)) for group in groups])
    return judge


LAB = [
    LabCase(
        "reward_model(), taught right and wrong",
        fact_products,
        taught_right_and_wrong,
        model=True,
        why=(
            "The training pairs held correct and wrong answers and no attack, and a text unlike both can score high. "
            "Bound the reward (win_rate), let the model learn beside the policy (cooper), or keep a rule beside it."
        ),
    ),
]


def rollouts():
    """Of one to three turns in one or two sequences."""
    layouts = (["Utppp"], ["Utppppp", "Utpp"], ["Utp"], ["Utpp"])
    return [make_trajectory(layouts=layout, id=str(i), sample=i) for i, layout in enumerate(layouts)]


def scores_by_hand(engine, trajectory, *, turns):
    """The head on the states after the last token of each turn, one sequence at a time."""
    found = []
    for turn in trajectory.turns:
        ids = torch.tensor([trajectory.sequences[turn.sequence].ids.tolist()])
        hidden_D = engine.model.hidden(ids, torch.ones_like(ids, dtype=torch.bool))[0, turn.stop - 1]
        found.append(float(engine._heads["reward"](hidden_D[None])[0, 0]))
    return found if turns else found[-1:]


@torch.no_grad()
@pytest.mark.parametrize("reads", ["end", "turns"])
def test_scores_are_those_of_the_states_after_turns(reads):
    engine = make_engine(double=True)
    group = make_group(trajectories=rollouts())
    judge = reward_model(engine=engine, reads=reads, aggregate="min")
    want = [scores_by_hand(engine, one, turns=reads == "turns") for one in group]
    steps = judge.score_steps(group)
    assert [one.shape for one in steps] == [(len(one.turns),) for one in group]
    for found, wanted in zip(steps, want, strict=True):
        assert found[len(found) - len(wanted) :].tolist() == pytest.approx(wanted, abs=1e-6)
    assert judge.score(group).tolist() == pytest.approx([min(one) for one in want], abs=1e-6)
    pair = judge.compare([(group[0], group[1])])[0]
    assert pair == pytest.approx(1 / (1 + math.exp(min(want[1]) - min(want[0]))), abs=1e-6)


@torch.no_grad()
def test_a_rollout_of_several_pairs_is_scored_once(monkeypatch):
    group = make_group(trajectories=rollouts())
    judge = reward_model(engine=make_engine(double=True), reads="end")
    score_G, asked = judge.score(group), []
    scores = judge._scores
    monkeypatch.setattr(judge, "_scores", lambda some: asked.append(len(some)) or scores(some))
    pairs = [(0, 1), (1, 0), (0, 0), (0, 1)]
    found = judge.compare([(group[i], group[j]) for i, j in pairs])
    slow = [1 / (1 + math.exp(score_G[j] - score_G[i])) for i, j in pairs]
    assert found.tolist() == pytest.approx(slow, abs=1e-6) and asked == [2]


@torch.no_grad()
def test_scores_after_replies_have_seen_the_next_turns_first_token():
    """Turns pp, p and pp with replies T between: read at the first token of turns 2 and 3, then at the last token."""
    engine = make_engine(double=True)
    one = make_trajectory(layouts=["Utpp tTt p tTt pp"])
    judge = reward_model(engine=engine, reads="replies", aggregate="max")
    ids = torch.tensor([one.sequences[0].ids.tolist()])
    hidden_TD = engine.model.hidden(ids, torch.ones_like(ids, dtype=torch.bool))[0]
    places = [one.turns[1].start, one.turns[2].start, one.turns[2].stop - 1]
    want = [float(engine._heads["reward"](hidden_TD[place][None])[0, 0]) for place in places]
    assert places == [7, 11, 12]
    assert judge.score_steps(make_group(trajectories=[one]))[0].tolist() == pytest.approx(want, abs=1e-6)
    assert judge.score(make_group(trajectories=[one]))[0] == pytest.approx(max(want), abs=1e-6)


def test_squashed_scores_are_probabilities_and_outputs_are_raw():
    engine = make_engine(double=True, head=Head(2, init="normal"))
    group = make_group(trajectories=rollouts())
    raw = reward_model(engine=engine, output=1)
    squashed = reward_model(engine=engine, output=1, squash=True, aggregate="prod", reads="turns")
    assert raw.outputs(group)[:, 1].tolist() == pytest.approx(raw.score(group).tolist(), abs=1e-9)
    steps = reward_model(engine=engine, output=1, reads="turns").score_steps(group)
    want = [math.prod(1 / (1 + math.exp(-s)) for s in own) for own in steps]
    assert squashed.score(group).tolist() == pytest.approx(want, abs=1e-6)


def step_by_hand(engine, loss):
    """An optimizer step on a loss of the engine's own scores."""
    for parameter in engine._trained.values():
        parameter.grad = None
    loss.backward()
    grads = {name: None if p.grad is None else p.grad.clone() for name, p in engine._trained.items()}
    for parameter in engine._trained.values():
        parameter.grad = None
    return grads


def states(engine, trajectory, turn):
    ids = torch.tensor([trajectory.sequences[turn.sequence].ids.tolist()])
    hidden_D = engine.model.hidden(ids, torch.ones_like(ids, dtype=torch.bool))[0, turn.stop - 1]
    return engine._heads["reward"](hidden_D[None])[0, 0]


def last_gradients(engine):
    """Record the gradients of the next optimizer step, before clipping."""
    seen = {}
    step = engine.optim_step

    def recorded(**options):
        seen.update({name: None if p.grad is None else p.grad.clone() for name, p in engine._trained.items()})
        return step(**options)

    engine.optim_step = recorded
    return seen


def same(found, want):
    assert found.keys() == want.keys()
    for name, grad in want.items():
        assert (grad is None) == (found[name] is None), name
        if grad is not None:
            torch.testing.assert_close(found[name], grad, rtol=0, atol=1e-6)


@pytest.mark.parametrize("rows", [64, 1])
def test_learning_from_pairs_follows_the_gradient_of_the_formula(rows):
    engine = make_engine(double=True)
    group = make_group(trajectories=rollouts())
    outcome, value = [1.0, 0.0, 0.5, 0.0], 0.0
    pairs = [(i, j) for i in range(4) for j in range(4) if outcome[i] > outcome[j]]
    for i, j in pairs:
        chosen, rejected = (states(engine, group[k], group[k].turns[-1]) for k in (i, j))
        value = value + torch.nn.functional.softplus(rejected - chosen) / len(pairs)
    want = step_by_hand(engine, value)
    judge, seen = reward_model(engine=engine, pairs=ordered(), rows=rows, learning_rate=0.01), last_gradients(engine)
    found = judge.fit([(group, Scores(np.array(outcome)))])
    same(seen, want)
    assert found["loss"] == pytest.approx(value.item(), abs=1e-6) and found["labels"] == len(pairs)


@pytest.mark.parametrize("rows", [64, 1])
def test_learning_from_labels_of_turns_follows_the_gradient_of_the_formula(rows):
    """NaN is no label: the turn counts in neither the sum nor the mean."""
    engine = make_engine(double=True)
    one = make_trajectory(texts=["a", "b", "c"], calls=[["f"], ["g"], []], replies=[["1"], ["2"], []], id="x")
    group = make_group(trajectories=[one, *rollouts()[:1]])
    labels = ([1.0, np.nan, 0.0], [1.0])
    terms = []
    for trajectory, own in zip(group, labels, strict=True):
        for turn, label in zip(trajectory.turns, own, strict=True):
            if not math.isnan(label):
                score = states(engine, trajectory, turn)
                terms.append(torch.nn.functional.softplus(score) - label * score)
    value = sum(terms) / len(terms)
    want = step_by_hand(engine, value)
    judge, seen = reward_model(engine=engine, reads="turns", rows=rows, learning_rate=0.01), last_gradients(engine)
    found = judge.fit([(group, Scores(np.zeros(2), turns=tuple(np.array(own) for own in labels)))])
    same(seen, want)
    assert found["loss"] == pytest.approx(value.item(), abs=1e-6) and found["labels"] == 3


def test_an_outcome_model_and_a_judge_of_steps_give_labels():
    class Steps:
        def score_steps(self, group):
            return tuple(np.array([1.0, -1.0][: len(one.turns)]) for one in group)

    group = make_group(trajectories=rollouts())
    rated = make_rated(group=group, outcome=[1, 0, np.nan, 1])
    by_outcome = reward_model(engine=make_engine(), learning_rate=0.0).learn([rated], step=0)
    assert by_outcome["labels"] == 3
    by_steps = reward_model(engine=make_engine(), reads="turns", steps=Steps(), learning_rate=0.0).learn(
        [rated], step=0
    )
    assert by_steps["labels"] == sum(len(one.turns) for one in group)


def test_metrics_before_the_update_and_a_frozen_model():
    engine = make_engine()
    group = make_group(trajectories=rollouts())
    judge = reward_model(engine=engine, pairs=ordered(), learns=False)
    order = judge.score(group).argsort().argsort()
    right = judge.learn([make_rated(group=group, outcome=order)], step=0)
    wrong = judge.learn([make_rated(group=group, outcome=-order)], step=1)
    assert right["agreement"] == 1.0 and wrong["agreement"] == 0.0 and right["gap"] == -wrong["gap"] > 0
    assert engine.version == 0 and "loss" not in right
    assert wrong["tokens_read"] == sum(len(one.sequences[one.turns[-1].sequence].ids) for one in group)
    assert right["spread"] == pytest.approx(float(np.std(judge.score(group)))) and right["spread"] > 0


def test_batches_are_optimizer_steps_and_epochs_repeat_them():
    engine = make_engine()
    labelled = [(make_group(trajectories=rollouts()), Scores(np.array([1.0, 0.0, 0.0, 1.0])))] * 3
    judge = reward_model(engine=engine, batch_size=2, epochs=2, learning_rate=0.0)
    found = judge.fit(labelled)
    assert engine.version == 4 and found["labels"] == 12


def test_fit_has_epochs_of_its_own():
    engine = make_engine()
    labelled = [(make_group(trajectories=rollouts()), Scores(np.array([1.0, 0.0, 0.0, 1.0])))] * 3
    judge = reward_model(engine=engine, batch_size=2, fit_epochs=3, learning_rate=0.0)
    assert judge.fit(labelled)["labels"] == 12 and engine.version == 6
    judge.learn([make_rated(group=group, scores=scores) for group, scores in labelled], step=1)
    assert engine.version == 8
    with pytest.raises(InputError, match="fit_epochs"):
        reward_model(fit_epochs=0)


def test_a_fitted_model_ranks_held_out_rollouts():
    """The better rollout ends in another token: after few steps every held-out pair is in order."""
    engine = make_engine(head=Head())
    judge = reward_model(engine=engine, pairs=ordered(), learning_rate=1e-2, epochs=20)
    judge.fit([labelled_group(seed) for seed in range(6)])
    for seed in range(6, 10):
        group, scores = labelled_group(seed)
        assert judge.score(group).argmax() == scores.outcome.argmax()


def test_it_begins_as_a_copy_of_the_policy_and_keeps_state():
    policy = LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=0))
    judge, group = reward_model(pairs=ordered(), head=Head(init="normal"), learning_rate=0.01), labelled_group(0)
    with pytest.raises(InputError, match="has no model yet"):
        judge.score(group[0])
    judge.begin(policy)
    judge.begin(policy)
    judge.fit([group])
    other = reward_model(pairs=ordered(), head=Head(init="normal"))
    other.begin(policy)
    other.load_state_dict(judge.state_dict())
    assert other.score(group[0]).tolist() == judge.score(group[0]).tolist()
    with pytest.raises(InputError, match="has no twins"):
        reward_model().begin(ScriptedEngine(Compact(), ["a"]))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"learning_rate": -1}, "learning_rate and output from 0"),
        ({"batch_size": 0}, "from 1"),
        ({"reads": "middle"}, "reads is 'end', 'turns' or 'replies'"),
        ({"aggregate": "prod"}, "the aggregate prod is of probabilities: pass squash=True"),
        ({"pairs": ordered(), "steps": object()}, "not from both"),
    ],
)
def test_bad_options_are_one_sentence(options, words):
    with pytest.raises(InputError, match=words):
        reward_model(**options)


def test_an_engine_without_the_head_is_named():
    plain = LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=0))
    group, _ = labelled_group(0)
    with pytest.raises(InputError, match="needs heads={'reward': Head"):
        reward_model(engine=plain).score(group)
    with pytest.raises(InputError, match="output is 1, and the head has 1"):
        reward_model(engine=make_engine(), output=1).score(group)
    assert reward_model(engine=make_engine(), loss=bradley_terry(), pairs=ordered()).score(
        replace(group, trajectories=())
    ).shape == (0,)
    assert isinstance(group, Group)
