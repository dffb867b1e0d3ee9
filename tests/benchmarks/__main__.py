"""``python -m tests.benchmarks``."""

import sys

from app.main import operations
from app.settings import Settings
from tests.benchmarks.program import main

if __name__ == "__main__":  # the processes of the parts import this module, too
    sys.exit(main(sys.argv[1:], lambda: operations(Settings)))
