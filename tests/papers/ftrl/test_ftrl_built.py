from helpers.methods import made


def test_visited_states_of_built_environments_are_tasks():
    method = made("ftrl_built")
    assert method.world.name == "built_chains" and len(method.stages) == len(made("ftrl").stages)
