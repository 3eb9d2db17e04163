"""Program of the sandbox: parts that agents in code are composed of, for rows of colors with worked examples.

It needs only the standard library. `agent_code` puts the text of this file before an agent's function.
"""

import random

__all__ = ["AgentParts"]


class AgentParts:
    """Modules of an agent for one task. A program is a list of steps, each an operation and a number.

    Args:
        seed: of the random numbers.

    Example:
        AgentParts(0).run([("left", 1), ("reverse", 0)], [1, 2, 3]) == [0, 3, 2]

    Paper: arXiv:2408.08435 (ADAS), the framework of agents in code.
    Differs: a module draws a program, where the paper's modules ask a language model.
    """

    BUDGET = 90
    """Executions of programs on a row."""

    def __init__(self, seed):
        random.seed(seed)
        self.used = 0
        self.left = [(name, n) for name in ("left", "turn_left") for n in (1, 2, 3, 4)]
        self.right = [(name, n) for name in ("right", "turn_right") for n in (1, 2, 3, 4)]
        self.order = [("reverse", 0), ("sort", 0), ("zeros_first", 0), ("zeros_last", 0)]
        self.paint = [("paint", n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 9)]
        self.roles = [self.left, self.right, self.order, self.paint]
        self.steps = self.left + self.right + self.order + self.paint

    def run(self, program, row):
        """Execute a program on a row; raises RuntimeError beyond the budget."""
        self.used += 1
        if self.used > self.BUDGET:
            raise RuntimeError("over budget: " + str(self.BUDGET) + " executions a task")
        for name, n in program:
            row = self.apply(name, n, row)
        return row

    def apply(self, name, n, row):
        """Execute a step."""
        size = len(row)
        changes = {
            "left": lambda: row[n:] + [0] * min(n, size),
            "right": lambda: [0] * min(n, size) + row[: max(size - n, 0)],
            "turn_left": lambda: row[n:] + row[:n],
            "turn_right": lambda: row[size - n :] + row[: size - n],
            "reverse": lambda: row[::-1],
            "sort": lambda: sorted(row),
            "zeros_first": lambda: [x for x in row if not x] + [x for x in row if x],
            "zeros_last": lambda: [x for x in row if x] + [x for x in row if not x],
            "paint": lambda: [n if x else 0 for x in row],
        }
        return changes[name]()

    def propose(self, length, steps):
        """Draw a program of 1 to `length` steps."""
        return [random.choice(steps) for _ in range(random.randint(1, length))]

    def improve(self, program, length, steps):
        """Change, add or remove a step."""
        kind = random.randint(0, 2)
        place = random.randint(0, len(program) - 1)
        if kind == 0 and len(program) < length:
            return [*program[:place], random.choice(steps), *program[place:]]
        if kind == 1 and len(program) > 1:
            return program[:place] + program[place + 1 :]
        return [*program[:place], random.choice(steps), *program[place + 1 :]]

    def marks(self, program, examples):
        """Mean share of equal cells over the examples; 1 for a program that fits."""
        total = 0.0
        for row, wanted in examples:
            found = self.run(program, row)
            total += sum(int(a == b) for a, b in zip(found, wanted)) / max(len(found), len(wanted), 1)
        return total / len(examples)

    def step_back(self, examples):
        """Choose operations by the examples: equal colors exclude paint, other colors exclude moves or the rest."""
        if all(sorted(row) == sorted(wanted) for row, wanted in examples):
            return self.left + self.right + self.order
        filled = [[len([x for x in one if x]) for one in pair] for pair in examples]
        return self.paint if all(before == after for before, after in filled) else self.left + self.right

    def most_common(self, rows):
        """The most frequent row, the first of equal ones."""
        keys = [str(row) for row in rows]
        return rows[max(range(len(rows)), key=lambda n: (keys.count(keys[n]), -n))]
