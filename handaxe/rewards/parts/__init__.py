"""What several rewards share: checks, what counts as the answer, references, schedules of weights, scoring.

No reward stands here.
"""
