"""What a worker hands to its processes of runs.

It imports nothing of what the work needs: that is loaded by the processes that do it, not by the worker.
"""

from __future__ import annotations

from typing import Final

from app.composition.database import Database
from app.workers.child import Execute
from app.workers.cluster import ClusterOptions

RUN_PROCESS: Final = "app.composition.run_process"
"""The module that does the work: for whoever can load it before there is any."""


def open_runs(database: Database, cluster: ClusterOptions | None) -> Execute:
    """What executes claims; called once in each process of runs."""
    from app.composition import run_process

    return run_process.open_runs(database, cluster)
