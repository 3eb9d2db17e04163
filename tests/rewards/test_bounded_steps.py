import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.judges.step_status import step_status
from handaxe.rewards.bounded_steps import FORMS, bound_steps, bounded_steps
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_trajectory

STEPS = judged_steps(judge=step_status())
EXAMPLE = {"steps": STEPS}
CONTRACT = [{"steps": STEPS, "form": form} for form in FORMS]
LAB = "changes turns of another reward"
RHO = np.array([0.9, 0.6, 0.8, 0.7])


@pytest.mark.parametrize(
    "form, want",
    [
        ("raw", [0.9, 0.6, 0.8, 0.7]),
        ("clip", [0, -0.1, 0, 0]),
        ("delta", [0.3, -0.2, 0.8, 0]),
        ("clip_delta", [0.1, -0.1, 0, 0]),
    ],
)
def test_the_numbers_of_the_paper(form, want):
    assert bound_steps(RHO, form, 0.7).tolist() == pytest.approx(want)


@pytest.mark.parametrize("seed", range(5))
def test_what_the_forms_promise(seed):
    """Delta sums to the first reward and returns from k on are rho_k; further good turns add nothing."""
    rho = np.random.default_rng(seed).random(6)
    delta = bound_steps(rho, "delta", 0.5)
    assert delta.sum() == pytest.approx(rho[0])
    assert delta[::-1].cumsum()[::-1][:-1].tolist() == pytest.approx(rho[:-1].tolist())
    clip = bound_steps(rho, "clip", 0.5)
    assert clip.sum() <= 0 and (clip <= 0).all()
    longer = np.append(np.full(3, 0.9), rho)
    assert bound_steps(longer, "clip", 0.5).sum() == pytest.approx(clip.sum())
    assert bound_steps(longer, "raw", 0.5).sum() == pytest.approx(rho.sum() + 2.7)
    both = bound_steps(np.minimum(rho - 0.5, 0), "delta", 0.5)
    assert bound_steps(rho, "clip_delta", 0.5).tolist() == pytest.approx(both.tolist())


@pytest.mark.parametrize("form", FORMS[1:])
def test_the_last_turn_and_a_lone_turn_earn_nothing(form):
    assert bound_steps(RHO, form, 0.7)[-1] == 0 and bound_steps(np.array([0.2]), form, 0.7).tolist() == [0]
    assert bound_steps(np.zeros(0), form, 0.7).tolist() == []


def test_turns_change_and_the_outcome_stays():
    one = make_trajectory(texts=["", "", "4"], calls=[["f"], ["g"], []], replies=[["1"], ["2"], []])
    group = make_group(trajectories=[one])
    plain, changed = STEPS(group), bounded_steps(steps=STEPS, form="delta")(group)
    assert changed.outcome.tolist() == plain.outcome.tolist()
    assert changed.turns[0].tolist() == bound_steps(plain.turns[0], "delta", 0.5).tolist() != plain.turns[0].tolist()


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="form is one of raw"):
        bounded_steps(steps=STEPS, form="cut")
    with pytest.raises(InputError, match="this reward gives none"):
        bounded_steps(steps=outcome(lambda one: 1.0))(make_group(trajectories=[make_trajectory()]))
