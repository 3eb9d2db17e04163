import pytest

from handaxe.papers.master_rm import master_rm

pytest.importorskip("sklearn")


@pytest.mark.slow
def test_the_study_compares_both_judges():
    found = master_rm(tasks=60, held_out=12, key_tasks=2, labels=16, negatives=4)(900)
    fall = found["plain/fpr"] - found["openers/fpr"]
    assert found["fall"] == pytest.approx(fall, abs=1e-9)
    change = found["openers/agreement"] - found["plain/agreement"]
    assert found["change"] == pytest.approx(change, abs=1e-9)
    for name in ("plain", "openers"):
        keys = [value for key, value in found.items() if key.startswith(f"{name}/key/")]
        assert len(keys) == 10 and found[f"{name}/fpr"] == pytest.approx(sum(keys) / 10, abs=1e-9)
