"""One line of JSON per request, holding only what is on the list: never a value, a name or a query."""

from __future__ import annotations

import sys
import traceback
from collections.abc import MutableMapping
from typing import Any, Final, TextIO

import structlog

ALLOWED_KEYS: Final = frozenset(
    {
        "event",
        "level",
        "timestamp",
        "request_id",
        "tenant",
        "key_id",
        "method",
        "route",
        "status",
        "seconds",
        "bytes_in",
        "bytes_out",
        "problem",
        "error",
        "frames",
    }
)


def only_allowed_keys(
    logger: Any,  # noqa: ANN401 - structlog's processor signature
    method: str,
    event: MutableMapping[str, Any],
) -> MutableMapping[str, Any]:
    """Drop whatever is not on the list, so that a careless call cannot put data into the log."""
    return {key: value for key, value in event.items() if key in ALLOWED_KEYS}


def request_log(stream: TextIO | None = None) -> structlog.typing.FilteringBoundLogger:
    """A logger that writes JSON lines to the stream (standard error if None)."""
    logger: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.WriteLogger(stream or sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            only_allowed_keys,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger("info"),
    )
    return logger


def root_of(error: BaseException) -> BaseException:
    """What really went wrong: a group of tasks wraps it, even if one alone has failed."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def frames_of(error: BaseException) -> list[str]:
    """Where the error was raised, without its message: messages may hold personal data."""
    return [
        f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
    ]
