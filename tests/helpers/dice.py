"""A world for tests of plays: an environment with state, and a policy made of dice that goes on from anywhere."""

import math

from handaxe.core.records import Message, Sampling, Task, ToolReply, ToolSchema
from handaxe.core.requests import Attempt, Completion, EnvReply, Partial, Rendered
from handaxe.engines.local.token_sampling import uniforms
from handaxe.models.chat_formats.compact import CALL, CALL_END, END, Compact

ADD = ToolSchema("add", "Adds.", {"type": "object", "properties": {"x": {"type": "string"}}})


class Counter:
    """Adds up what it is told; its reply depends on the sum and on the turn's seed. Done at a turn without call."""

    made = []

    def __init__(self, task):
        self.task, self.sums, self.closed, self.asked = task, [], 0, []
        Counter.made.append(self)

    def start(self):
        self.sums = [0]
        return self.task.messages, (ADD,)

    def step(self, turn, *, seed):
        self.asked.append(turn)
        if not turn.calls and not turn.errors:
            return EnvReply(done=True)
        replies = []
        for call in turn.calls:
            self.sums.append(self.sums[-1] + len(call.arguments["x"]))
            text = f"{self.sums[-1]}.{seed % 7}"
            replies.append(ToolReply(call.id, call.name, text, seconds=0.25, cost=2.0))
        messages = [Message("tool", r.content, call_id=r.call_id, name=r.name) for r in replies]
        return EnvReply((*messages, *(Message("tool", e) for e in turn.errors)), tuple(replies))

    def report(self):
        return {"sums": list(self.sums)}

    def snapshot(self):
        return list(self.sums)

    def restore(self, state):
        assert self.sums == [0], "a fork is started before it is restored"
        self.sums = list(state)

    def close(self):
        self.closed += 1


class Rewriting(Compact):
    """A format that shows every other reply as a new sequence."""

    def extend(self, history, new, last_ids, tools):
        if sum(m.role == "assistant" for m in history) % 2:
            return super().extend(history, new, last_ids, tools)
        opening = self.start([m for m in [*history, *new] if m.role != "assistant"], tools)
        return Rendered(opening.ids, opening.authors, fresh=True)


def attempt(seed=0, *, env=Counter, format=None, max_tokens=14, context=400, id="t/0"):
    task = Task("t", (Message("user", "go"),))
    return Attempt(task, env, format or Compact(), Sampling(max_tokens=max_tokens), id, 0, seed, context)


def options(said):
    """What the dice choose from after the ids of a turn so far: ids and their probabilities."""
    if not said or said[-1] == CALL_END:
        return [(CALL, 0.75), (ord("0"), 0.2), (END, 0.05)] if not said else [(END, 0.7), (CALL, 0.3)]
    if CALL not in said:
        return [(END, 0.8), (ord("1"), 0.2)]
    word = bytes(said[len(said) - said[::-1].index(CALL) :])
    if len(word) < 4:
        return [(b"add "[len(word)], 1.0)]
    return [(ord("2"), 0.5), (CALL_END, 0.5)] if len(word) > 4 else [(ord("3"), 0.4), (ord("4"), 0.6)]


def roll(name, request):
    """Answers a Sample. Token n is decided by the ids before it and by the n-th uniform number of the seed."""
    begun = request.prefix or Partial([], [], [], [])
    ids, logp = list(begun.ids), list(begun.logp)
    draws = uniforms(request.seed, request.sampling.max_tokens)
    finish = "length"
    shift = (sum(request.ids) % 13) / 130
    for n in range(len(ids), request.sampling.max_tokens):
        choices, u = options(ids), (draws[n] + shift) % 1
        for token, p in choices:
            if u < p or token == choices[-1][0]:
                break
            u -= p
        ids.append(token)
        logp.append(math.log(p))
        if token == END:
            finish = "stop"
            break
    version = list(begun.version) + [5] * (len(ids) - len(begun.version))
    behaviour = [*begun.behaviour_logp, *logp[len(begun.ids) :]]
    return Completion(ids, logp, behaviour, version, finish, seconds=0.5, cost=1.0)
