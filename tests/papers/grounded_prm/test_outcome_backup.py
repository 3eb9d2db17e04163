from handaxe.papers.grounded_prm.outcome_backup import outcome_backup


def test_outcome_backup_ignores_verdicts():
    assert outcome_backup()([1, -1], 1, 2) == [1, 1, 1]
    assert outcome_backup()([], -1, 0) == [-1] and outcome_backup()([1, 1], -1, 1) == [-1, -1]
