"""Cursors of lists: the last serial number seen, sealed so that they are opaque and cannot be forged."""

from __future__ import annotations

import base64
import binascii
import json

from app.domain.errors import InvalidInput, Unavailable
from app.persistence.encryption import MasterKey, place, seal, unseal


class Cursors:
    """Makes and reads cursors; one is good for the same tenant, list and filters only."""

    def __init__(self, master_key: MasterKey) -> None:
        self._key = master_key.derive("list cursors")

    def make(self, serial: int, *listing: str) -> str:
        """The cursor after the row with this serial number."""
        sealed = seal(self._key, json.dumps(serial).encode(), place(*listing))
        return base64.urlsafe_b64encode(sealed).decode().rstrip("=")

    def read(self, cursor: str, *listing: str) -> int:
        """The serial number; InvalidInput if the cursor is not one of this list's."""
        try:
            sealed = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            serial: int = json.loads(unseal(self._key, sealed, place(*listing)))
        except (binascii.Error, ValueError, Unavailable):
            raise InvalidInput.of(
                "/cursor",
                "invalid-cursor",
                "The cursor does not belong to this list with these filters.",
                "Take next_cursor from the page before, or leave it out to begin at the first page.",
            ) from None
        return serial
