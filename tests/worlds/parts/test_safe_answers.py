import os

import pytest

from handaxe.worlds.parts.safe_answers import is_safe

ATTACKS = [
    "__import__('os').mkdir('{path}')",
    "[x for x in [__import__('os').mkdir('{path}')]]",
    "().__class__.__bases__[0].__subclasses__()",
    "open('{path}', 'w')",
    "exec('1')",
    "(lambda: 1)()",
    "print(1)",
    "x.__class__",
    "f'{path}'",
]


@pytest.mark.parametrize("generator", ["binary_matrix", "n_queens", "countdown", "simple_integration", "puzzle24"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_code_never_passes(generator, attack):
    assert not is_safe(generator, attack) or generator in ("binary_matrix", "n_queens") and attack == "f'{path}'"


@pytest.mark.parametrize(
    "text", ["9**9**9", "9**(9**9)", "((9**999)**999)**999", "9**99999", "2**exp(99)", "1<<9**9", "9" * 400, "(" * 500,
             "1 " * 2000, "5!!", "N(1)", "S(1)", "x.y", "x[0]", "'a'"],
)  # fmt: skip
def test_unsafe_formulas_do_not_pass(text):
    assert not is_safe("polynomial_multiplication", text)


@pytest.mark.parametrize(
    "text", ["3*(4+5)", "x**3*exp(2*x)/3 + C", "-sin(x)**2 + sqrt(3*x - 1)", "(x**99)**99", "x**(3/2)", "0.5*log(x)"]
)
def test_safe_formulas_pass(text):
    assert is_safe("intermediate_integration", text)


def test_number_games_reject_functions():
    assert is_safe("countdown", "3*(4+5)") and is_safe("puzzle24", "(8-2)*(5-1)")
    assert not is_safe("countdown", "exp(exp(exp(9)))")


def test_literals_and_other_text_pass():
    assert is_safe("n_queens", "[['Q', '_'], ['_', 'Q']]")
    assert is_safe("n_queens", "Q _ _\n_ _ Q")
    assert is_safe("spiral_matrix", "1 2 3")
    assert not is_safe("spiral_matrix", "[1] * 10**10")
    assert is_safe("gcd", "__import__('os')"), "its scorer compares texts"
    assert is_safe("countdown", "N(1)", oracle="N(1)")


def test_scorers_do_not_run_an_attack(tmp_path):
    gym = pytest.importorskip("reasoning_gym")
    from handaxe.worlds.parts.reasoning_gym import score, tasks

    path = tmp_path / "made"
    names = ["binary_matrix", "n_queens", "spiral_matrix", "string_insertion", "countdown", "puzzle24"]
    names += ["simple_integration", "polynomial_multiplication"]
    attack = f"__import__('os').mkdir('{path}')"
    for name in names:
        (task,) = tasks(name, count=1, seed=0)
        assert score(task, attack) == 0.0
        assert not os.path.exists(path), name
    # Without the filter, the generator's own scorer runs it.
    data = gym.create_dataset("spiral_matrix", size=1, seed=0)
    data.score_answer(attack, data[0])
    assert os.path.exists(path)
