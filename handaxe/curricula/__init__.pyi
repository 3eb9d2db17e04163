from .few_tasks import few_tasks as few_tasks
from .in_order import in_order as in_order
from .task_pool import task_pool as task_pool
from .tip_pool import tip_pool as tip_pool
