from helpers.methods import made

SHORT = ["--graded", "8"]
ABOUT_REWARDS = True


def test_tasks_are_graded_before_training():
    assert len(made("tool_star_classes").stages) == len(made("grpo").stages) + 1
