"""The measures there are.

Adding one takes its file here and one line below; and, held by a test: an example in
``api/measurement_examples.py``, a section in ``docs/measures.md`` headed by its name and title that says what
the numbers mean, assume and do not cover, and tests in a file ``test_<name>.py``.
"""

from __future__ import annotations

from typing import Any, Final

from app.domain.measures.anonymity import ANONYMITY
from app.domain.measures.entry import Measure

MEASURES: Final[tuple[Measure[Any, Any], ...]] = (ANONYMITY,)
