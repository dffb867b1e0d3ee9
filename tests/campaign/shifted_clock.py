"""The product with a clock that is wrong: ``python -m tests.campaign.shifted_clock SECONDS serve …``."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

from app.composition import database


def shift(seconds: float) -> None:
    """Let the clock that the composition root hands out go before the machine's; before anybody has taken
    it.
    """
    database.utc_now = lambda: datetime.now(UTC) + timedelta(seconds=seconds)


if __name__ == "__main__":
    shift(float(sys.argv[1]))
    from app.__main__ import main

    sys.argv[1:] = sys.argv[2:]
    main()
