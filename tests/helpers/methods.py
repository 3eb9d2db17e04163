"""Constants of the tests of methods, for the tests of every method in tests/papers.

The test of a method, tests/papers/NAME/test_method.py (test_OTHER.py for a further method of the folder), may set

    SHORT = ["--epochs", "1"]           options of a short run
    LAB = "reason"                      its reward cannot score rollouts that no policy made
    ASKS_MODEL = True                   its reward calls a model
    FITTED = True                       its reward is fitted at run time and depends on the processor; also in the test
                                        of a world
    FALLS = "reason"                    why its reward falls to an attack, for docs/lab.md
    TRAINS_FORCED = True                it trains on tokens that the policy did not sample, by the paper
    JUDGE_LEARNS_RESULTS = True         its judge also learns the text of tool results, by the paper
    EVALUATES_FORCED = True             a judge chooses next steps in evaluations, by the paper
    ABOUT_REWARDS = True                its paper is about rewards: parts, ties and claims are checked
    NO_REWARD = True                    it trains on no reward, so only claims are checked
    TRAP_TASKS = 1                      tasks of these checks; 4 by default
    DEAD_PARTS = {"leaks"}              parts of the reward without effect on advantages: parts of weight 0, parts for
                                        the credit or selection alone, constants of a gate, parts implied by others
    MAY_TIE = "reason"                  a wrong well-formed rollout may earn as much as a correct one
    UNBOUNDED = {"pass@1": "reason"}    metric of a claim without a bound on the baseline's fault
    REMEMBERS = "solved tasks"          state across steps, which a resumed run restores to the bit
    RESUMED = ["--groups", "16"]        options of that run
    NOISE_VARIES = {"BASELINE": "..."}  baseline of a claim about noise
"""

import pytest

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.evaluation.mechanisms import read_test_constant
from handaxe.methods.build import make_method, make_world
from handaxe.methods.catalog import find_method, list_methods

__all__ = ["embedded_model", "made", "methods_with", "own", "slow_for_papers"]


def own(name, constant, default=None):
    """A constant of the test of a method."""
    return read_test_constant(find_method(name).module.removeprefix("handaxe."), constant, default)


def embedded_model(name):
    """The packaged model that the cold start of the method's world is trained from."""
    return make_world(parse_train(name, [], prog="handaxe train", also={"run": RunOptions})[0]).start_model


def methods_with(constant):
    """Methods whose test sets a constant, sorted."""
    return [one.name for one in list_methods() if own(one.name, constant)]


def slow_for_papers(names):
    """Names as parameters; a method of a paper is marked slow, since one paper alone needs its run."""
    papers = {one.name for one in list_methods() if one.module.startswith("handaxe.papers.")}
    return [pytest.param(name, marks=[pytest.mark.slow] if name in papers else []) for name in names]


def made(name, *words):
    """A method in its world, with options in the grammar of the command line."""
    spec = parse_train(name, list(words), prog="handaxe train", also={"run": RunOptions})[0]
    return make_method(spec, make_world(spec))
