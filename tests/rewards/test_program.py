from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError, VerifierError
from handaxe.rewards.parts.scoring import score_group
from handaxe.rewards.program import program
from handaxe.testing.make_records import make_group, make_trajectory

LAB = "runs a user's program"
CONTRACT = [{"text": "def compute_reward(before, after):\n    return after['ok'] - before['ok'] + 0.1, {}"}]
HEAD = "def compute_reward(before, after):\n    "
OK = HEAD + "x = after['ok'] - before['ok']\n    return 2 * x, {'ok': x, 'turn': after['turn']}"


def rollout(count, name="one", statuses=()):
    made = make_trajectory(id=name, texts=["a"] * count, calls=[["f"]] * count, replies=[["x"]] * count)
    own = [*statuses, *["ok"] * (count - len(statuses))]
    turns = zip(made.turns, own, strict=True)
    marked = tuple(replace(t, replies=tuple(replace(one, status=s) for one in t.replies)) for t, s in turns)
    return replace(made, turns=marked)


def group(*counts):
    return make_group(trajectories=[rollout(count, f"r{k}") for k, count in enumerate(counts)])


def test_program_sums_totals_and_components_over_turns():
    scores = program(text=OK)(
        make_group(trajectories=[rollout(3, statuses=("ok", "failed", "ok")), rollout(1, "other")])
    )
    assert scores.outcome.tolist() == [4.0, 2.0]
    assert scores.turns is None
    assert {name: values.tolist() for name, values in scores.channels.items()} == {"ok": [2.0, 1.0], "turn": [6.0, 1.0]}


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=6), st.floats(-3, 3))
def test_program_equals_a_slow_loop(values, weight):
    rows = [{"x": value} for value in values]
    one = rollout(len(rows) - 1) if len(rows) > 1 else replace(rollout(1), turns=())
    text = HEAD + f"return {weight!r} * (after['x'] - before['x']) ** 2, {{}}"
    found = program(text=text, numbers=lambda _: rows)(make_group(trajectories=[one])).outcome[0]
    total = 0.0
    for n in range(len(rows) - 1):
        total += weight * (rows[n + 1]["x"] - rows[n]["x"]) ** 2
    assert found == pytest.approx(total, abs=1e-6, rel=1e-9)


BAD = {
    "loop": HEAD + "while True: pass",
    "loop at once": "while True: pass",
    "recursion": HEAD + "return compute_reward(before, after)",
    "memory": HEAD + "x = [0] * 10**9\n    return 0.0, {}",
    "nested": HEAD + "x = []\n    for _ in range(3000): x = [x]\n    return x, {}",
    "syntax": "def compute_reward(before, after)\n    return 1, {}",
    "nul": "\0",
    "surrogate": "# \ud800\n" + HEAD + "return 0.0, {}",
    "no function": "x = 1",
    "raises": HEAD + "return 1 / 0, {}",
    "exit": "raise SystemExit",
    "interrupt": HEAD + "raise KeyboardInterrupt",
    "unknown number": HEAD + "return after['success'], {}",
    "system": "import os\nos.system('touch FILE')\n" + HEAD + "return 0.0, {}",
    "numpy": "import numpy\n" + HEAD + "return 0.0, {}",
    "write": HEAD + "open('FILE', 'w').write('x')\n    return 0.0, {}",
    "print": HEAD + "print(1)\n    return 0.0, {}",
    "forged": "print('[[1.0, {}], [1.0, {}]]')\nraise SystemExit",
    "nan": HEAD + "return float('nan'), {}",
    "infinite": HEAD + "return 1e999, {}",
    "infinite component": HEAD + "return 0.0, {'a': -1e999}",
    "text": HEAD + "return 'high', {}",
    "none": HEAD + "return None",
    "no total": HEAD + "return None, {}",
    "truth value": HEAD + "return True, {}",
    "number alone": HEAD + "return 1.0",
    "integer of 401 digits": HEAD + "return 10**400, {}",
    "integer of 100001 digits": HEAD + "return 10**100000, {}",
    "too large": HEAD + "return 2e6, {}",
    "name of a component": HEAD + "return 0.0, {'a b': 1.0}",
    "17 components": HEAD + "return 0.0, {f'a{i}': 1.0 for i in range(17)}",
    "long reply": HEAD + "return 0.0, {'a' * 300000: 1.0}",
}


@pytest.mark.parametrize("name", BAD)
def test_program_that_fails_leaves_rollouts_without_a_score(name, tmp_path):
    file = tmp_path / "file"
    text = BAD[name].replace("FILE", str(file))
    played, scores = score_group(program(text=text, seconds=0.3), group(2))
    assert np.isnan(scores.outcome).all()
    (ending,) = [one.ending for one in played]
    assert ending.kind == "verifier_error"
    assert ending.reason.startswith("VerifierError: the reward program failed on rollout 'task-0/0/0': ")
    assert "\n" not in ending.reason and len(ending.reason) < 500
    assert not file.exists() and not Path("file").exists()


def test_program_that_fails_on_the_third_rollout_scores_the_others():
    text = HEAD + "return 1.0 / (4 - after['turn']), {}"
    played, scores = score_group(program(text=text), group(1, 2, 4, 1))
    np.testing.assert_allclose(scores.outcome, [1 / 3, 1 / 3 + 1 / 2, np.nan, 1 / 3])
    assert [one.ending.kind == "verifier_error" for one in played] == [False, False, True, False]


def test_program_names_the_rollout():
    with pytest.raises(VerifierError, match=r"failed on rollout 'task-0/0/1': ZeroDivisionError") as found:
        program(text=HEAD + "return 1.0 / (2 - after['turn']), {}")(group(1, 2))
    assert found.value.trajectory == "task-0/0/1"


def test_program_starts_from_an_empty_session_in_each_rollout():
    text = "seen = []\n" + HEAD + "seen.append(1)\n    return float(len(seen)), {}"
    reward = program(text=text)
    assert reward(group(2, 2)).outcome.tolist() == reward(group(2, 2)).outcome.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("arguments", [{"text": ""}, {"text": "  \n"}, {"text": None}, {"seconds": 0}, {"memory": 10}])
def test_program_refuses_empty_texts_and_limits_out_of_range(arguments):
    with pytest.raises(InputError):
        program(**{"text": OK, **arguments})
