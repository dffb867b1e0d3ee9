"""What keeps a worker, as a process: ``python -m tests.faults.kept_worker_process URL MASTER_KEY``."""

from __future__ import annotations

import sys

from app.composition.database import Database
from app.composition.processes import keep_worker
from app.persistence.encryption import MasterKey
from app.settings import Settings

if __name__ == "__main__":
    keep_worker(Database(sys.argv[1], MasterKey.from_text(sys.argv[2]), 0), Settings())
