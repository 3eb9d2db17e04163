from .best_step import best_step as best_step
from .mcts import mcts as mcts
from .uct import uct as uct
