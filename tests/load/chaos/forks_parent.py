"""Imported by the forks' parent alone, as its first module: it ends with the director, and its forks with it.

By itself it would stay for as long as it has a fork.
"""

import os

from tests.load.chaos.death import die_with_parent

die_with_parent(os.getppid())
