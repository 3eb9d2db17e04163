from helpers.embed_words import embed_words

from handaxe.papers.memento.case_bank import Case, CaseBank


def test_read_takes_the_most_similar_questions_good_and_bad():
    bank = CaseBank(embed_words)
    cases = [Case("1 K?", ("boss",), 1.0), Case("2 M?", ("ally",), 0.0), Case("1 M?", (), 0.0)]
    for case in cases:
        bank.write(case)
    assert len(bank) == 3 and bank.nearest("1 K?", k=1) == [0]
    assert set(bank.nearest("1 Q?", k=2)) == {0, 2} and bank.nearest("2 M?", k=3)[0] == 1
    assert bank.take([2, 0]) == [cases[2], cases[0]] and bank.nearest("1", k=0) == []
