from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion, ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.judges.noisy import noisy, noisy_check
from handaxe.judges.step_status import step_status
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"judge": step_status()}, {"judge": step_status(), "spread": 0.4, "flip": 0.5, "seed": 3}]
LAB = [
    LabCase(
        "noisy(judge=step_status())",
        partial(arithmetic, easy=0.0, mistakes=True),
        lambda world: noisy(judge=step_status()),
    ),
]
FAILED = ToolReply("1-0", "f", "no", "failed")


def group(size=1):
    told = {"texts": ["", ""], "calls": [["f"], ["f"]], "replies": [["1"], [FAILED]]}
    return make_group(trajectories=[make_trajectory(id=str(i), **told) for i in range(size)])


def test_noisy_matches_the_docstring_example():
    assert noisy(judge=step_status(), spread=0.0, flip=1.0).score_steps(group())[0].tolist() == [-0.8, 0.6]
    assert noisy(judge=step_status(), spread=0.0).score_steps(group())[0].tolist() == [0.8, -0.6]


def test_noise_has_the_given_spread_and_is_clipped():
    judge = noisy(judge=step_status(good=0.0, plain=0.0, bad=-0.5), spread=0.1)
    errors = np.array([own - (0.0, -0.5) for own in judge.score_steps(group(400))]).ravel()
    assert abs(errors.mean()) < 0.02 and errors.std() == pytest.approx(0.1, rel=0.1)
    wild = np.concatenate(noisy(judge=step_status(), spread=5.0).score_steps(group(50)))
    assert wild.min() == -1 and wild.max() == 1


def test_signs_flip_with_the_given_probability():
    said = np.array(noisy(judge=step_status(), spread=0.0, flip=0.3).score_steps(group(400)))
    assert (said[:, 0] < 0).mean() == pytest.approx(0.3, abs=0.07)


def test_equal_text_has_equal_errors_in_every_rollout():
    one = group()[0]
    other = replace(one, id="other", sample=7, seed=5)
    judge = noisy(judge=step_status())
    first, second = judge.score_steps(make_group(trajectories=[one, other]))
    assert first.tolist() == second.tolist()
    assert noisy(judge=step_status(), seed=1).score_steps(group())[0].tolist() != first.tolist()


def test_arguments_out_of_range_are_errors():
    with pytest.raises(InputError, match="spread from 0"):
        noisy(judge=step_status(), spread=-1)
    with pytest.raises(InputError, match="flip from 0 to 1"):
        noisy(judge=step_status(), flip=1.5)


def test_scores_flip_around_the_middle_of_their_scale():
    plain = step_status(good=0.9, plain=0.5, bad=0.1).score_steps(group())[0]
    found = noisy(judge=step_status(good=0.9, plain=0.5, bad=0.1), spread=0.0, flip=1.0, centre=0.5).score_steps(
        group()
    )[0]
    np.testing.assert_allclose(found, 1 - plain)


def test_flipped_checks_by_hand_and_by_content():
    goals = [Criterion("a", ""), Criterion("b", "")]
    one, same = make_trajectory(texts=["x", "y"], id="0"), make_trajectory(texts=["x", "z"], id="1")

    def check(trajectory, criteria):
        return np.array([[False, True]] * len(criteria))

    assert noisy_check(check=check, flip=1.0)(one, goals).tolist() == [[True, False]] * 2
    assert noisy_check(check=check, flip=0.0)(one, goals).tolist() == [[False, True]] * 2
    half = noisy_check(check=check, flip=0.5, seed=3)
    assert (half(one, goals)[:, 0] == half(same, goals)[:, 0]).all()  # the same step has the same error
    many = [Criterion(f"{k}", "") for k in range(400)]
    flips = noisy_check(check=lambda trajectory, listed: np.zeros((len(listed), 2), bool), flip=0.3)(one, many)
    assert 0.25 < flips.mean() < 0.35 and 0.04 < (flips[:, 0] & flips[:, 1]).mean() < 0.14
    with pytest.raises(InputError, match="flip is 2"):
        noisy_check(check=check, flip=2)
