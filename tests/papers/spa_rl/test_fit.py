from handaxe.papers.spa_rl.fit import fit
from handaxe.testing.make_records import make_rated


class Counts:
    """Remembers how many groups of which step it saw, and a number that depends on their order."""

    def __init__(self):
        self.steps, self.value = [], 0.0

    def learn(self, groups, *, step):
        self.steps.append((step, len(groups)))
        for one in groups:
            self.value = 0.5 * self.value + float(one.scores.outcome.sum())
        return {"value": self.value}

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


def test_fit_trains_the_learner_and_leaves_the_policy_unchanged(world, tmp_path):
    groups = [make_rated(outcome=[k, 1]) for k in range(5)]
    found = []
    for options in ({}, {"out": tmp_path}, {"out": tmp_path, "resume": True}):
        learner, site = Counts(), world.site(**options)
        before = world.weights(site.engine)
        metrics = fit(learner=learner, source=lambda site: groups, epochs=2, batch_size=2)(site)
        assert world.same(before, world.weights(site.engine)) and site.engine.version == 0
        found.append((learner.value, [row["value"] for row in metrics]))
        steps = [] if options.get("resume") else [(0, 2), (1, 2), (2, 1), (3, 2), (4, 2), (5, 1)]
        assert learner.steps == steps  # what is done is not done again
    assert found[0] == found[1] == found[2] and len(found[0][1]) == 6
