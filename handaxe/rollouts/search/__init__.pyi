from .best_of import best_of as best_of
from .best_step import best_step as best_step
from .mcts import mcts as mcts
from .uct import uct as uct
from .value_search import value_search as value_search
from .verdict_backup import verdict_backup as verdict_backup
from .visit_mean import visit_mean as visit_mean
