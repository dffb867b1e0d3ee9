"""An API that has loaded what commands ask for before there is a database.

Run as ``python -m app.composition.awaiting``. A command that brings a service of its own starts it first of
all. It loads while the database is made, and answers from it once its standard input says where that is.
"""

from __future__ import annotations

import gc
import json
import select
import sys
from pathlib import Path

from app.allocator import share_one_arena
from app.cli.program import told
from app.composition.configured import MIB
from app.composition.database import Database
from app.composition.starter import end_with_starter
from app.logs import configure_logs
from app.persistence.encryption import MasterKey
from app.settings import Settings


def main() -> int:
    """Load, wait for the database, answer requests until asked to end; the exit status."""
    share_one_arena()
    end_with_starter()
    settings = Settings()
    configure_logs(settings.log_level)
    return told(lambda: _answer(settings))


def _answer(settings: Settings) -> None:
    # None of what is loaded is ever garbage, and looking through it takes a sixth of the time.
    gc.disable()
    from app.api import interface
    from app.composition import service, use_cases  # noqa: F401 - the first request would load it

    interface.load_ahead(_is_announced)
    gc.freeze()
    gc.enable()
    line = sys.stdin.buffer.readline()
    if not line:
        return  # whoever was to announce the database has given up
    said = json.loads(line)
    key = MasterKey.from_text(Path(said["master_key_file"]).read_text())
    service.answer(settings, Database(said["url"], key, settings.table_cache_mib * MIB))


def _is_announced() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


if __name__ == "__main__":
    sys.exit(main())
