from .ask_tasks import ask_tasks as ask_tasks
from .decontaminate import decontaminate as decontaminate
from .dedupe import dedupe as dedupe
from .difficulty import difficulty as difficulty
from .draw_tasks import draw_tasks as draw_tasks
from .replay import replay as replay
from .solve import solve as solve
