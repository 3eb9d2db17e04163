import pytest
from helpers.methods import made

SHORT = ["--measured", "2"]


@pytest.mark.parametrize("words", [[], ["--no-debugger"], ["--no-backtracer"], ["--no-debugger", "--no-backtracer"]])
def test_evaluations_alone_change(words):
    method, base = made("tool_star_inference", *words), made("grpo")
    assert method.evaluate_rollout is not None and len(method.stages) == len(base.stages) + 1
