"""What a worker hands to the process of a run.

It imports nothing of what the work needs: that is loaded by the processes that do it, not by the worker.
"""

from __future__ import annotations

import asyncio
from typing import Final

from app.composition.database import Database
from app.domain.search.budget import Halted
from app.services.resources import Claim
from app.services.runs.run_execution import Report

RUN_PROCESS: Final = "app.composition.run_process"
"""The module that does the work: for whoever can load it before there is any."""


def execute_claim(database: Database, claim: Claim, report: Report, stopped: Halted) -> None:
    """Do one run's work to its end in the store; called in the run's own process."""
    from app.composition.run_process import execute

    asyncio.run(execute(database, claim, report, stopped))
