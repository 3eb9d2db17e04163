from .bounded_as import bounded_as as bounded_as
from .by_task import by_task as by_task
from .noisy_replies import noisy_replies as noisy_replies
from .slow import slow as slow
from .tool_chat import tool_chat as tool_chat
from .tool_choice import tool_choice as tool_choice
from .without_tools import without_tools as without_tools
