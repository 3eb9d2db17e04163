import pytest

from handaxe.errors import InputError
from handaxe.models.compact import Compact
from handaxe.selection.few_tasks import few_tasks
from handaxe.testing.scripted import ScriptedEngine
from handaxe.training.demonstrated import demonstrated
from handaxe.training.site import make_site
from handaxe.worlds.sums import sums
