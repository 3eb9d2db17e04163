from handaxe.methods.renames import renamed_arguments, renamed_command


def test_arguments_of_version_0_1_get_the_names_of_this_version():
    old = {"recipe": "plain", "base": "frozen", "world": "sums", "others": ["user=tiny"], "shuffled": True, "steps": 3}
    assert renamed_arguments(old) == {
        "recipe": "grpo_no_kl", "base": "no_training", "world": "sums", "aux_policies": ["user=tiny"],
        "permute_rewards": True, "steps": 3,
    }  # fmt: skip


def test_commands_of_version_0_1_get_the_names_of_this_version():
    assert renamed_command("frozen --model smollm2") == "no_training --model smollm2"
    assert renamed_command("ppo --base revisiting --world sums") == "ppo --base small_task_set --world sums"
    assert renamed_command("otc --smooth 2") == "otc --smooth 2"
