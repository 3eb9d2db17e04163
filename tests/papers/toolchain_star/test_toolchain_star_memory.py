import pytest

from handaxe.papers.toolchain_star.toolchain_star_memory import toolchain_star_memory

pytest.importorskip("bfcl_eval")


@pytest.mark.slow
@pytest.mark.starts
def test_the_study_of_the_memory_counts_its_plans():
    found = toolchain_star_memory(tasks=2, seeds=2, calls=6, solved=4)(900)
    assert found["few/plans"] == 2 and found["grown/plans"] == found["many/plans"] == 2 + 4 * found["solved"]
    assert found["gain/few"] == pytest.approx(found["grown"] - found["few"], abs=1e-9)
