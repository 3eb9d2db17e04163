from helpers.methods import made

LAB = "the judge is untrained before a stage on rollouts of a run"


def test_progress_and_executed_calls_are_paid_and_the_outcome_is_not():
    method = made("spa_rl")
    assert sorted(method.reward.parts()) == ["executed", "progress"]
    assert method.world.correct not in method.reward.parts().values()


def test_critic_and_kl_of_the_method_are_those_of_its_page():
    method = made("spa_rl")
    assert (method.critic_warmup, method.critic_rate) == (2, 0.01)
    assert method.annotate == ("value", "ref_logp") and len(method.terms) == 2
