from handaxe.methods.catalogue import find_recipes


def test_papers_are_told_apart_by_number_and_id():
    papers = [one.paper for one in find_recipes() if one.paper is not None]
    numbers = [paper.number for paper in papers if paper.number is not None]
    assert len(set(numbers)) == len(numbers) and len({paper.arxiv for paper in papers}) == len(papers)
    assert all(paper.title and paper.short for paper in papers)
