"""Constants of the method chain_of_agents, read by the tests of every method (tests/papers)."""

from helpers.methods import made

SHORT = ["--lessons", "2", "--passes", "1"]


def test_the_system_plays_lessons_and_one_conversation_trains():
    method = made("chain_of_agents")
    assert len(method.stages) == 1 and method.rollout is method.evaluate_rollout
