from handaxe.core.errors import InputError, VerifierError
from handaxe.papers.auto_mc_reward.critic import Critic
from handaxe.rewards.program import program
from handaxe.testing.make_records import make_group, make_trajectory

HEAD = "def compute_reward(before, after):\n    "


def check_on(*turns):
    group = make_group(trajectories=[make_trajectory(texts=["a"] * count) for count in turns])

    def check(text):
        try:
            program(text=text)(group)
        except (VerifierError, InputError) as error:
            return str(error)
        return ""

    return check


def test_the_critic_rejects_errors_and_totals_of_one_sign():
    critic = Critic(check_on(2, 3))
    assert "KeyError" in critic(HEAD + "return after['wood'], {}")
    assert "is empty" in critic("")
    assert critic(HEAD + "return after['tokens'], {}").startswith("the total is positive at every turn")
    assert critic(HEAD + "return -0.5, {}").startswith("the total is negative at every turn")
    assert critic.objections == 4


def test_the_critic_accepts_totals_that_differ_in_sign_between_turns():
    critic = Critic(check_on(2, 3))
    for total in ("after['turn'] - 2", "max(0, after['turn'] - 2)", "0.0", "after['ok'] - before['ok']"):
        assert critic(f"{HEAD}return {total}, {{}}") == ""
    assert critic.objections == 0


def test_the_critic_says_nothing_on_signs_without_turns():
    assert Critic(lambda text: "")(HEAD + "return 1.0, {}") == ""
