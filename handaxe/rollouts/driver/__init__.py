"""Execution of rollout plans: `Driver` advances many concurrently, `run` plays a list to the end.

driver.py              rounds: advancing, finishing, segments and stops
scheduler.py           pending requests of plans, and their replies
live_plans.py          unfinished rollouts and their plans
executor.py            interface for Act and Work; workers.py: threads, event_loop.py: coroutines
replies.py             validation of an environment's reply, exception or timeout
batch_stream.py        a stream for an engine without one
several_streams.py     several engines' streams as one
run_plan.py            one plan without a driver
play_tasks.py          one rollout of each task, for studies
garbage_collection.py  thresholds of Python's garbage collector with thousands of live plans
"""

from handaxe.rollouts.driver.driver import Driver, Finished, run

__all__ = ["Driver", "Finished", "run"]
