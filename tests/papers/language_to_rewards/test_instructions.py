import random

from handaxe.papers.language_to_rewards.instructions import (
    MOTIONS,
    STANCES,
    Motion,
    describe_targets,
    goal_targets,
    word_instruction,
)
from handaxe.papers.language_to_rewards.residual_reward import Targets

MEANINGS = [(motion, stance) for motion in MOTIONS for stance in STANCES]


def test_instructions_match_their_examples():
    circle = Motion(speed="slow", turn="left")
    assert goal_targets(circle, "low") == Targets(height=0.5, speed=0.5, turn=1.0)
    assert describe_targets(Motion(heading="east", place="north"), "low") == "height low, heading east, place north"
    assert describe_targets(Motion(), "") == "speed none"
    drawn = {word_instruction(circle, "low", random.Random(seed)) for seed in range(1000)}
    assert "crouched, stroll in a circle to the left" in drawn and len(drawn) == 2 * 3 * 3 * 3


def test_a_wording_has_one_meaning():
    meanings = {}
    for motion, stance in MEANINGS:
        for seed in range(40):
            text = word_instruction(motion, stance, random.Random(seed))
            assert meanings.setdefault(text, (motion, stance)) == (motion, stance), text
    assert len(MEANINGS) == len(set(MEANINGS)) == 138 and len({motion.kind for motion in MOTIONS}) == 8


def test_meanings_differ_in_targets_and_descriptions():
    assert len({goal_targets(*meaning) for meaning in MEANINGS}) == 138
    assert len({describe_targets(*meaning) for meaning in MEANINGS}) == 138
