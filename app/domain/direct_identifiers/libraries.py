"""Libraries with lists and numbering plans, imported by the first column that needs them.

One thread at a time imports: an import of ``a.b`` begins ``b`` and then waits for ``a``. Where ``a`` imports
``a.b`` itself, as Faker does with its providers, and another thread is just importing ``a``, each waits for
the other, and Python ends one of the two by an exception.
"""

from __future__ import annotations

import threading
from typing import Final

importing: Final = threading.RLock()
"""Held by whoever imports."""
