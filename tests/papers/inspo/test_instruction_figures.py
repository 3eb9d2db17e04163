from math import exp

import pytest

from handaxe.papers.inspo.instruction_figures import InstructionFigures
from handaxe.papers.inspo.instructions import Instruction, instructions

WEIGHTS = {"a": 0.5, "b": 0.3, "c": 0.1}


def test_figures_equal_the_worked_example():
    made = instructions(initial=["a", "b", "c"])
    made.population = [Instruction(f"i{k}", name, weight, 3) for k, (name, weight) in enumerate(WEIGHTS.items())]
    found = InstructionFigures(made).learn([], step=0)
    preference = exp(5) / (exp(5) + exp(3) + exp(1)) - 1 / 3
    assert found == pytest.approx(
        {"proposals": 0, "preference": preference, "improved": 0, "failures": 0, "weight": 0.5}
    )
    assert preference == pytest.approx(0.534, abs=1e-3)


def test_figures_before_the_first_trial_and_after_a_proposal():
    made = instructions(initial=["a"], propose=lambda text, failures, seed: ["better"], every=1)
    figures = InstructionFigures(made)
    assert figures.learn([], step=0) == {"proposals": 0, "preference": 0, "improved": 0, "failures": 0}
    made.population = [Instruction("i0", "a", 0.2, 3), Instruction("i1", "better", 0.4, 3)]
    made._made = 2
    assert figures.learn([], step=1)["improved"] == 1 and figures.learn([], step=1)["proposals"] == 1
    figures.load_state_dict(figures.state_dict())
