"""What becomes of folded and of repaired attempts after they are played: batch, gradient, features, record, replay."""

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import folding_run

from handaxe.core.errors import InputError
from handaxe.core.records import (
    Group,
    Message,
    PlayedGroup,
    RatedGroup,
    Sampling,
    ScoredGroup,
    Scores,
    Task,
    ToolCall,
    check,
)
from handaxe.core.requests import Attempt
from handaxe.credit.group_norm import group_norm
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.reductions.token_mean import token_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.cleaner.repairing import repairing
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.folding import folding
from handaxe.testing.crash import kill_until_done, run_until_killed
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator
from handaxe.tools.fold_memory import fold_memory
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.rate import annotate
from handaxe.training.record.run_record import RunRecord
from handaxe.training.replay import Setup, replay

TASK = Task("t", (Message("user", "12*34+5?"),), answer="413")
ENV = tool_chat([calculator, fold_memory])
SAMPLING = Sampling(max_tokens=64)
TOOLS = [calculator.schema, fold_memory.schema]


def count(expression):
    return ToolCall("calculator", {"expression": expression})


FOLD = ToolCall("fold_memory", {"summary": "408"})
FOLDED = [count("12*34"), FOLD, count("408+5"), FOLD, "413"]
FAILED = [count("12*"), count("12*("), count("12*34"), "408"]
ROLLOUTS = {"folding": folding(max_turns=8), "repairing": repairing(max_turns=8)}


def make_engine(**options):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=512), seed=0)
    model.module.double()
    return LocalEngine(model, **options)


def group(name, *scripts):
    """One sibling a script, said by nobody: the log-probs of its tokens are those of the engine's model."""
    made = []
    for i, script in enumerate(scripts):
        one = Attempt(TASK, ENV, Compact(), SAMPLING, f"t/{i}", i, 5 + i, 512)
        engine = SaysNext(script)
        (trajectory,) = run_plan(ROLLOUTS[name](one), sample=engine)
        check(trajectory)
        made.append(trajectory)
    return Group(TASK, tuple(made))


class SaysNext:
    def __init__(self, script):
        self.lines = list(script)

    def __call__(self, name, request):
        return ScriptedEngine(Compact(), lambda text, turn: self.lines.pop(0), tools=TOOLS).sample([request])[0]


def rate(found, outcome):
    scores = Scores(np.array(outcome, float))
    return RatedGroup.of(found, scores, group_norm(std=None)(found, scores))


def annotated(found, engine):
    scored = ScoredGroup(PlayedGroup(found), found, Scores(np.zeros(len(found))))
    return annotate(scored, engine, ["old_logp"]).group


def test_a_folded_rollout_has_several_rows_and_one_advantage():
    found = group("folding", FOLDED, ["413"])
    batch = make_batch([rate(found, [1, 0])], pad_id=0)
    assert [len(one.sequences) for one in found] == [3, 1] and batch.rollout_B.tolist() == [0, 0, 0, 1]
    assert batch.denominators.rollouts == 2 and batch.denominators.groups == 1 and batch.denominators.turns == 6
    assert batch.denominators.tokens == sum(one.num_tokens for one in found)
    assert set(batch.adv_BT[:3][batch.mask_BT[:3]].tolist()) == {0.5}, "every sequence carries the attempt's advantage"
    assert set(batch.adv_BT[3][batch.mask_BT[3]].tolist()) == {-0.5}, "and statistics count two attempts, not four rows"


def gradient(engine, parts, loss):
    """What gathers in the model over the parts of a batch."""
    for one in parts:
        engine.forward_backward(one, loss)
    found = torch.cat([p.grad.flatten() for p in engine.model.module.parameters() if p.grad is not None]).clone()
    engine.model.module.zero_grad()
    return found


@pytest.mark.parametrize("reduction", [rollout_mean(), token_mean()], ids=["rollout_mean", "token_mean"])
def test_gradient_is_the_sum_over_sequences(reduction):
    """Of the rows one by one, with the denominators of the whole; in float64."""
    engine = make_engine()
    found = annotated(group("folding", FOLDED, ["413"]), engine)
    batch = make_batch([rate(found, [1, 0])], pad_id=engine.pad_id, dtype=torch.float64)
    loss = policy(ratio=token(), surrogate=clip(), reduction=reduction)
    rows = [batch.rows(torch.tensor([row])) for row in range(len(batch))]
    whole, apart = gradient(engine, [batch], loss), gradient(engine, rows, loss)
    torch.testing.assert_close(whole, apart, rtol=0, atol=1e-6)
    assert whole.abs().max() > 1e-4


def test_repaired_turns_train_without_failed_tokens_at_ratio_one():
    engine = make_engine()
    found = annotated(group("repairing", FAILED, ["408"]), engine)
    text = Compact().decode(found[0].sequences[0].ids)
    assert "12*<" not in text and "calculator 12*34" in text and found[0].notes["repaired"][0]["retries"] == 2
    batch = make_batch([rate(found, [1, 0])], pad_id=engine.pad_id, dtype=torch.float64)
    assert batch.denominators.tokens == sum(one.num_tokens for one in found) < sum(one.usage.tokens for one in found)
    gaps = []

    def watched(out, part):
        gaps.append((out.logp_BT - part.old_logp_BT)[part.mask_BT].abs().max().item())
        return policy(ratio=token(), surrogate=clip(), reduction=rollout_mean())(out, part)

    assert gradient(engine, [batch], watched).abs().max() > 1e-4
    assert gaps[0] < 1e-6, "a graft's log-prob is measured where it stands now"


def test_spliced_tokens_without_old_logp_are_an_error():
    with pytest.raises(InputError, match=r"FORCED tokens that are to train, and no old_logp"):
        make_batch([rate(group("repairing", FAILED, ["408"]), [1, 0])], pad_id=0)


@pytest.mark.parametrize("name, script", [("folding", FOLDED), ("repairing", FAILED)])
def test_run_record_keeps_usage_notes_and_spans(name, script, tmp_path):
    found = group(name, script, ["408"])
    with RunRecord(tmp_path) as record:
        record.write_step(0, [rate(found, [1, 0])], {})
    with RunRecord.open(tmp_path) as record:
        (kept,) = record.groups()
    for one, other in zip(kept.group, found, strict=True):
        check(one)
        assert one.total_usage == other.total_usage and one.notes == other.notes and one.messages == other.messages
        assert [t.parsed.spans for t in one.turns] == [t.parsed.spans for t in other.turns]
        for mine, theirs in zip(one.sequences, other.sequences, strict=True):
            np.testing.assert_array_equal(mine.author, theirs.author)
    assert (found[0].total_usage is None) == (name == "folding") and any(t.parsed.spans for t in found[0].turns)


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("name, script", [("folding", FOLDED), ("repairing", FAILED), ("repairing", [count("1+")] * 5)])
def test_folded_and_repaired_rollouts_replay_without_differences(name, script, tools):
    """A repaired turn as if it had been said at once; retries that put nothing right as they were."""
    setup = Setup(ROLLOUTS[name], Compact(), ENV, SAMPLING, context=512, tools=tools)
    found = group(name, [*script, "408", "408", "408"], ["408"])
    assert [one.differences for one in replay(found, setup)] == [(), ()]


@pytest.mark.slow
def test_run_killed_within_a_fold_resumes_to_the_bit(tmp_path):
    """As the docs promise of any run: the same weights, every step exactly once."""
    file = Path(folding_run.__file__)
    steps = 5
    engine, _ = folding_run.go(steps)
    for at in (1, 8, 20, 30, 11):
        run_until_killed(file, "resume", (tmp_path / "run", steps, at))
    kill_until_done(file, "resume", (tmp_path / "run", steps), after=[])
    assert folding_run.world.same(torch.load(tmp_path / "run" / "final.pt"), folding_run.world.weights(engine))
    with RunRecord.open(tmp_path / "run") as record:
        found = record.trajectories()
        assert record.steps() == list(range(steps)) and len({one.id for one in found}) == len(found) == 12 * steps
        assert all(len(one.sequences) == 2 and one.ending.kind == "completed" for one in found)
