from handaxe.methods.catalog import find_recipes


def test_papers_are_told_apart_by_number_and_id():
    """Two recipes may be of one paper, of which each is a part; they are told apart by what they are called."""
    papers = [one.paper for one in find_recipes() if one.paper is not None]
    ids = {(paper.number, paper.arxiv) for paper in papers if paper.number is not None}
    assert len({number for number, _ in ids}) == len({arxiv for _, arxiv in ids}) == len(ids)
    assert len({paper.short for paper in papers}) == len(papers)
    assert all(paper.title and paper.short for paper in papers)
