"""Constants of the method prompt_enhancer, read by the tests of every method (tests/papers), and its options."""

import pytest
from helpers.methods import made

pytest.importorskip("PIL")
ABOUT_REWARDS = True


def test_the_base_keeps_all_other_roles():
    method, base = made("prompt_enhancer"), made("grpo", "--world", "image_requests")
    assert method.stages == base.stages and type(method.rollout) is type(base.rollout)
