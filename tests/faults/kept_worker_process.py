"""What keeps a worker: ``python -m tests.faults.kept_worker_process URL MASTER_KEY SILENT_SECONDS``."""

from __future__ import annotations

import sys
from functools import partial

from app.composition import working
from app.composition.database import Database
from app.composition.processes import keep_worker
from app.persistence.encryption import MasterKey
from app.settings import Settings
from app.workers.worker import WorkerOptions

if __name__ == "__main__":
    working.WorkerOptions = partial(WorkerOptions, silent_seconds=float(sys.argv[3]))
    keep_worker(Database(sys.argv[1], MasterKey.from_text(sys.argv[2]), 0), Settings())
