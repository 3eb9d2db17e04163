"""Divergence of the two roles: the estimate, the measured contexts, and the notes of a rollout."""

import math
import random

import pytest
import torch

from handaxe.core import records
from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Message, Sampling, ToolCall
from handaxe.core.requests import Attempt, Completion
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.ops.kl_estimators import k1
from handaxe.papers.agent0_vl.checked_plates import checked_plates
from handaxe.papers.agent0_vl.role_divergence import role_divergence
from handaxe.papers.agent0_vl.two_roles import mean_divergence, solver_steps, two_roles
from handaxe.rollouts.driver.run_plan import run_plan

pytest.importorskip("sklearn")
pytest.importorskip("PIL")
FORMAT = Compact(TinyImageProcessor(8))
WORLD = checked_plates()
TASK = WORLD.tasks("train", 1, 0)[0]
HEAD = "<SYSTEM>zoom(box)<END><USER>red?\ufffc<END>"
CALL = "<ASSISTANT><CALL>zoom 0 0 2 2<CALL_END><END>"
ZOOM = Message("assistant", "", (ToolCall("zoom", {"box": "0 0 2 2"}),))
STRAIGHT = (ZOOM, "0 0 2 2 .9", "17", ZOOM, "17 .9")


class Scripted:
    """Turns of a script whose tokens have log-prob -0.5; measured tokens have -0.5 less the next of `gaps`."""

    def __init__(self, *said, gaps=(), engine=None):
        self.said = [Message("assistant", one) if isinstance(one, str) else one for one in said]
        self.gaps, self.engine = list(gaps), engine
        self.requests, self.tools = [], ()

    def sample(self, name, request):
        ids = FORMAT.encode_turn(self.said[request.turn], self.tools)
        logp = [-0.5] * len(ids)
        return Completion(ids, logp, logp, [0] * len(ids), "stop")

    def measure(self, name, request):
        self.requests.append(request)
        if self.engine is not None:
            return self.engine.measure([request])[0]
        return {"logp": [-0.5 - self.gaps[len(self.requests) - 1]] * (len(request.ids) - request.start)}

    def play(self, *, divergence=True, temperature=1.0, context=1 << 20, by="", **options):
        env = WORLD.env(())
        with_tools = env(TASK)
        _, self.tools = with_tools.start()
        with_tools.close()
        sampling = Sampling(temperature=temperature, max_tokens=64)
        attempt = Attempt(TASK, env, FORMAT, sampling, "one", 0, 7, context, by=by)
        (made,) = run_plan(
            two_roles(divergence=divergence, **options)(attempt), sample=self.sample, measure=self.measure
        )
        records.check(made)
        return made


def test_divergence_matches_the_worked_example():
    assert role_divergence([-0.1, -0.2, -0.3], [-2.1, -0.7, -0.2]) == pytest.approx(0.8)
    assert role_divergence([-2.0], [-0.5]) == -1.5


@pytest.mark.parametrize("count", [1, 2, 9])
def test_divergence_matches_a_loop_over_tokens(count):
    rng = random.Random(count)
    solver, verifier = ([-rng.expovariate(1) for _ in range(count)] for _ in range(2))
    total = 0.0
    for j in range(count):
        total += solver[j]
        total -= verifier[j]
    assert role_divergence(solver, verifier) == pytest.approx(total / count, abs=1e-12)
    ratios = torch.tensor(solver, dtype=torch.float64) - torch.tensor(verifier, dtype=torch.float64)
    assert role_divergence(solver, verifier) == pytest.approx(k1(ratios).mean().item(), abs=1e-12)


def test_the_expected_estimate_is_the_divergence_of_the_solver_from_the_verifier():
    """KL(S || V) = 0.8 ln 8 - 0.1 ln 3 - 0.1 ln 6 = 1.3745; KL(V || S) is 1.1967."""
    solver, verifier = [0.8, 0.1, 0.1], [0.1, 0.3, 0.6]
    mean = sum(p * role_divergence([math.log(p)], [math.log(q)]) for p, q in zip(solver, verifier))
    assert mean == pytest.approx(1.3745, abs=5e-5)


@pytest.mark.parametrize(("solver", "verifier"), [([], []), ([-1.0], [-1.0, -2.0])])
def test_log_probs_of_other_numbers_of_tokens_raise(solver, verifier):
    with pytest.raises(InputError, match=f"{len(solver)} log-probs of the solver and {len(verifier)} of the verifier"):
        role_divergence(solver, verifier)


def test_each_step_is_measured_in_place_of_its_verdict():
    script = Scripted(*STRAIGHT, gaps=(0.8, 0.5))
    made = script.play()
    assert [FORMAT.decode(one.ids) for one in script.requests] == [
        f"{HEAD}<USER>check 0 0 2 2<END>{CALL}",
        f"{HEAD}<USER>check 17<END>{CALL}<TOOL>\ufffc<END><ASSISTANT>17<END>",
    ]
    assert [len(one.ids) - one.start for one in script.requests] == [15, 3]
    assert [step.divergence for step in solver_steps(made)] == pytest.approx([0.8, 0.5])
    assert mean_divergence(solver_steps(made)) == pytest.approx(0.65) and made.notes["divergence"].keys() == {"0", "2"}


def test_the_repair_has_its_own_divergence():
    script = Scripted(ZOOM, "4 4 6 6 .5", *STRAIGHT, gaps=(0.1, 0.8, 0.5))
    made = script.play()
    assert [(step.turn, len(step.verdicts)) for step in solver_steps(made)] == [(2, 2), (4, 1)]
    assert [step.divergence for step in solver_steps(made)] == pytest.approx([0.8, 0.5])


@pytest.mark.parametrize(("temperature", "measured"), [(1.0, 1.0), (0.7, 0.7), (0.0, 1.0)])
def test_tokens_are_measured_at_the_temperature_of_sampling(temperature, measured):
    script = Scripted(*STRAIGHT, gaps=(0.0, 0.0))
    script.play(temperature=temperature)
    assert [one.temperature for one in script.requests] == [measured, measured]


def test_a_rollout_without_divergence_measures_nothing_and_has_the_same_tokens():
    script, measured = Scripted(*STRAIGHT), Scripted(*STRAIGHT, gaps=(0.8, 0.5))
    plain, made = script.play(divergence=False), measured.play()
    assert not script.requests and len(measured.requests) == 2
    assert {"measured", "divergence"} == made.notes.keys() - plain.notes.keys()
    assert all(made.notes[key] == value for key, value in plain.notes.items())
    assert made.messages == plain.messages and [one.seed for one in made.turns] == [one.seed for one in plain.turns]
    for one, other in zip(made.sequences, plain.sequences, strict=True):
        assert one.ids.tolist() == other.ids.tolist() and one.logp.tolist() == other.logp.tolist()
    assert [step.divergence for step in solver_steps(plain)] == [0, 0] and mean_divergence(solver_steps(plain)) == 0


@pytest.mark.parametrize(("turns", "known"), [(1, []), (2, []), (3, [0.8]), (5, [0.8])])
def test_a_step_without_a_verdict_has_no_divergence(turns, known):
    made = Scripted(*STRAIGHT, gaps=(0.8, 0.5)).play(max_turns=turns)
    assert made.ending == Ending("truncated", "turns")
    assert [step.divergence for step in solver_steps(made) if step.verdicts] == pytest.approx(known)
    assert all(step.divergence == 0 for step in solver_steps(made) if not step.verdicts)
    assert mean_divergence(solver_steps(made)) == pytest.approx(sum(known))


def test_tokens_beyond_the_context_are_left_out():
    first = Scripted(*STRAIGHT, gaps=(0.8, 0.5))
    start = first.play().turns[1].start
    cut = Scripted(*STRAIGHT, gaps=(0.8,))
    made = cut.play(context=start + 12)
    assert made.ending == Ending("truncated", "length")
    assert len(cut.requests[0].ids) == start + 12 and cut.requests[0].ids == first.requests[0].ids[: start + 12]
    assert [step.divergence for step in solver_steps(made)] == pytest.approx([0.8])


def test_another_model_than_the_policy_raises():
    with pytest.raises(InputError, match="only the policy can be measured"):
        Scripted(*STRAIGHT).play(by="solver")


def test_divergences_of_a_model_match_a_loop_over_prefixes():
    model = TinyModel.new(TinyConfig(layers=1, width=32, heads=2, patch=8), seed=3)
    engine = LocalEngine(TinyModel(model.module.to(torch.float64), pad_id=0))
    script = Scripted(*STRAIGHT, engine=engine)
    made = script.play()
    for step, verifier, verdict in zip(solver_steps(made), (1, 3), (1, 4), strict=True):
        solver = made.turns[step.turn]
        drawn = made.sequences[solver.sequence].ids[solver.start : solver.stop].tolist()
        read = made.sequences[verifier].ids[: made.turns[verdict].start].tolist()
        total = 0.0
        for token in drawn:
            ids_BT = torch.tensor([read])
            with torch.no_grad():
                hidden_BTD = engine.model.hidden(ids_BT, torch.ones_like(ids_BT, dtype=torch.bool), made.images)
                total += -0.5 - engine.model.head(hidden_BTD)[0, -1].log_softmax(0)[token].item()
            read.append(token)
        assert step.divergence == pytest.approx(total / len(drawn), abs=1e-6)
