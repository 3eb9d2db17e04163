import pytest

from handaxe.commands.claim_sides import HELD_OUT, claim_sides
from handaxe.core.errors import InputError


def test_a_claim_has_the_base_or_its_own_baseline():
    ours, baselines = claim_sides("calibrated")
    assert ours.name == "calibrated" and len(ours.spec.template.page.claims) == len(baselines)
    for claim, side in baselines.items():
        assert side.name == (claim.baseline or "grpo")
        assert side.spec.settings.seed == ours.spec.settings.seed
        assert side.spec.template.world.name == ours.spec.template.world.name


def test_claims_about_the_start_have_no_side():
    ours, baselines = claim_sides("retool")
    alone = [claim for claim in ours.spec.template.page.claims if claim.alone]
    assert not any(claim in baselines for claim in alone)


def test_options_of_runs_apply_to_both_sides():
    ours, baselines = claim_sides("dr_grpo", ["--steps", "3"])
    assert ours.spec.settings.steps == 3 and all(one.spec.settings.steps == 3 for one in baselines.values())


def sizes(name, of_runs=()):
    """Held-out tasks of every side."""
    ours, baselines = claim_sides(name, of_runs)
    return {one.spec.settings.held_out for one in (ours, *baselines.values())}


@pytest.mark.parametrize("name", ["dr_grpo", "toolrl"])
def test_claims_are_decided_on_400_tasks_by_default(name):
    """toolrl has baselines with its own name and other options."""
    assert sizes(name) == {HELD_OUT} == {400}


def test_runs_with_evaluations_during_training_keep_200_tasks():
    assert sizes("thor") == sizes("dr_grpo", ["--eval-every", "5"]) == {200}


def test_page_option_and_file_set_the_held_out_tasks(tmp_path):
    assert sizes("gated") == {100}, "its page"
    assert sizes("dr_grpo", ["--held-out", "20"]) == sizes("dr_grpo", ["--held-out=20"]) == {20}
    file = tmp_path / "run.toml"
    file.write_text("held_out = 30\n")
    assert sizes("toolrl", ["--config", str(file)]) == {30}


def test_a_method_without_claims_is_an_error():
    with pytest.raises(InputError, match="grpo_no_kl has no claims"):
        claim_sides("grpo_no_kl")
