"""`python -m handaxe` is `handaxe`."""

import sys

from handaxe.cli import main

sys.exit(main())
