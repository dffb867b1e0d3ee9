"""The process's log: one JSON object per line, and of an exception its type and place but not its message."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime

import structlog

# What libraries say of every request, job and statement belongs to nobody's log.
QUIET_LIBRARIES = ("sqlalchemy", "alembic", "procrastinate", "uvicorn.access", "asyncio", "httpx", "httpcore")


def configure_logs(level: str) -> None:
    """Send this process's records of at least this level (debug, info, …) to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )


class JsonLines(logging.Formatter):
    """Renders a record of the standard library; exceptions lose their message, which may hold data."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of one record."""
        line: dict[str, object] = {
            "event": record.getMessage(),
            "logger": record.name,
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__qualname__
            line["frames"] = [
                f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(record.exc_info[2])
            ]
        return json.dumps(line, ensure_ascii=False)
