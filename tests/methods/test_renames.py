from handaxe.methods.renames import renamed_arguments, renamed_command


def test_arguments_of_version_0_1_get_the_names_of_this_version():
    old = {"recipe": "plain", "base": "frozen", "world": "sums", "others": ["user=tiny"], "shuffled": True, "steps": 3}
    assert renamed_arguments(old) == {
        "recipe": "grpo_no_kl", "base": "no_training", "world": "arithmetic", "aux_policies": ["user=tiny"],
        "permute_rewards": True, "steps": 3,
    }  # fmt: skip


def test_commands_of_version_0_1_get_the_names_of_this_version():
    assert renamed_command("frozen --model smollm2") == "no_training --model smollm2"
    assert renamed_command("ppo --base revisiting --world sums") == "ppo --base small_task_set --world arithmetic"
    assert renamed_command("otc --smooth 2") == "otc --smooth 2"


def test_options_of_version_0_1_get_the_names_of_this_version():
    old = {"copies": 8, "back": 20, "base": "dapo", "base.rounds": 1}
    assert renamed_arguments(old, method="thor") == {"forks": 8, "rewind_tokens": 20, "base": "dapo", "base.rounds": 1}
    assert renamed_arguments({"base": "thor", "base.copies": 0}, method="otc") == {"base": "thor", "base.forks": 0}
    assert renamed_command("thor --copies 0") == "thor --forks 0"
    assert renamed_command("simpletir --no-keep") == "simpletir --no-train-empty-turns"
    assert renamed_command("otc --base thor --base.copies 2") == "otc --base thor --base.forks 2"


def test_an_option_that_no_longer_exists_is_dropped_only_at_its_default():
    assert renamed_arguments({"method": "thor", "imitated": 0}) == {"method": "thor"}
    assert renamed_arguments({"method": "thor", "imitated": 8}) == {"method": "thor", "imitated": 8}


def test_worlds_of_version_0_1_get_the_names_and_options_of_this_version():
    assert renamed_arguments({"world": "priced", "world.share": 2}) == {"world": "routing", "world.share": 2}
    assert renamed_arguments({"world": "slips"}) == {"world": "arithmetic", "world.easy": 0.0, "world.mistakes": True}
    assert renamed_arguments({"world": "worked_steps", "world.slips": 0.2})["world.mistakes"] == 0.2
    assert renamed_arguments({"world": "arithmetic", "world.easy": 0.5}) == {"world": "arithmetic", "world.easy": 0.5}
    assert renamed_command("ppo --world slips") == "ppo --world arithmetic --world.easy 0.0 --world.mistakes"
    assert renamed_command("ppo --world worked_steps --world.slips 0.5") == (
        "ppo --world worked_steps --world.mistakes 0.5"
    )


def test_engine_options_of_version_0_1_get_the_names_of_this_version():
    old = {"engine": "local", "engine.kept_tokens": 100, "engine.checkpointing": True, "engine.max_rows": 8}
    assert renamed_arguments(old) == {
        "engine": "local", "engine.prefix_cache_tokens": 100, "engine.gradient_checkpointing": True,
        "engine.max_rows": 8,
    }  # fmt: skip
    assert renamed_command("grpo --engine.kept-tokens 0") == "grpo --engine.prefix-cache-tokens 0"
