from .inherit_bound import inherit_bound as inherit_bound
from .limited_images import limited_images as limited_images
from .noisy_replies import noisy_replies as noisy_replies
from .slow import slow as slow
from .task_router import task_router as task_router
from .tool_chat import tool_chat as tool_chat
from .tool_choice import tool_choice as tool_choice
from .without_tools import without_tools as without_tools
