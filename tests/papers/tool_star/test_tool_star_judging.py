from helpers.methods import made

SHORT = ["--rollouts", "2"]
ABOUT_REWARDS = True


def test_the_last_stage_of_the_base_is_replaced():
    assert len(made("tool_star_judging").closing) == len(made("tool_star").closing) == 1
