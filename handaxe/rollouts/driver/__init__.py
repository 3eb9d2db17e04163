"""Runs rollout plans: `Driver` advances many at once, `run` plays all of them to their end.

driver.py              the rounds: what advances, what is over, segments and stops
scheduler.py           what each plan waits for, and how it moves on
live_plans.py          an attempt that is not over, and its plans
executor.py            what carries out Act and Work; workers.py: in threads, event_loop.py: coroutines
replies.py             what an environment's answer, exception or lateness means for the attempt
batch_stream.py        a stream for an engine that has none
several_streams.py     the streams of several engines as one
run_plan.py            one plan without a driver
garbage_collection.py  Python's, while thousands of plans are live
"""

from handaxe.rollouts.driver.driver import Driver, Finished, run

__all__ = ["Driver", "Finished", "run"]
