from handaxe.papers.policy_cliff import policy_cliff


def test_the_study_measures_shifts_with_and_without_entropy():
    found = policy_cliff(processes=3, states=3, actions=3)(900)
    for size in ("0.1", "0.001", "1e-06"):
        assert 0 <= found[f"tied/soft/{size}"] <= found[f"tied/hard/{size}"] <= 1
    assert found["unique/hard/1e-06"] == 0 < found["tied/hard/1e-06"]
    assert found["bound"] <= 1 and found["trade/loss"] > 0
    assert found["effective/hard/low"] <= found["effective/hard"] <= found["effective/hard/high"]
    assert policy_cliff(processes=3, states=3, actions=3)(900) == found
