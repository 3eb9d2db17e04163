from .best_step import best_step as best_step
from .mcts import mcts as mcts
from .uct import uct as uct
from .verdict_backup import verdict_backup as verdict_backup
