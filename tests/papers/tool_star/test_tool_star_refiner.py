from helpers.methods import made

SHORT = ["--measured", "2"]


def test_evaluations_alone_change():
    method, base = made("tool_star_refiner"), made("grpo")
    assert method.evaluate_rollout is not None and method.rollout.__module__ == base.rollout.__module__
    assert len(method.stages) == len(base.stages) + 1
