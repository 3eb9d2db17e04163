from helpers.methods import made

SHORT = ["--solutions", "4", "--epochs", "1"]


def test_one_stage_precedes_the_partial_rollouts_of_the_base():
    method = made("agentmath_sft")
    assert len(method.stages) == 1 and method.async_config.segment_tokens == 48
