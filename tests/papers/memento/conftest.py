import pytest
from helpers.case_reader import CaseReader

from handaxe.evaluation.frozen_policy import FrozenPolicy
from handaxe.models.chat_formats.compact import Compact
from handaxe.worlds.hops.coded_hops import coded_hops


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HANDAXE_CACHE", str(tmp_path_factory.mktemp("cache")))
        world = coded_hops(codes=4, shown=0, size=40)
        yield FrozenPolicy(world, CaseReader(world, lambda person: ["boss"]), Compact())
