"""Which stored hierarchies count as decided by records."""

from types import SimpleNamespace

import pytest

from app.services.datasets.hierarchies import is_from_data


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ({"kind": "rows"}, False),
        ({"kind": "parents"}, False),
        ({"kind": "flat"}, True),
        ({"kind": "masking"}, True),
        ({"kind": "masking", "from_data": False}, False),
        ({"kind": "rows", "from_data": True}, True),
    ],
)
def test_what_was_stored_before_it_was_recorded_is_taken_only_if_written_out(summary, expected):
    """Of the others it cannot be told whether their leaves were a range or a column's."""
    assert is_from_data(SimpleNamespace(summary=summary)) is expected
