"""Whether what a binary file holds is what its types promise; looked at once, however often it is used."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def check_array(array: Any) -> None:  # noqa: ANN401 - an array of pyarrow
    """Raise ArrowInvalid unless offsets lie within the data and texts are UTF-8."""
    array.validate(full=True)


class DictionaryChecks:
    """Checks dictionary-encoded arrays; a dictionary that batches share is checked with the first of them.

    Otherwise a large dictionary and many small batches would cost their product.
    """

    def __init__(self) -> None:
        self._checked: dict[int, tuple[Any, int]] = {}

    def check(self, column: int, array: Any) -> int:  # noqa: ANN401 - an array of pyarrow
        """Bytes of the longest text in the dictionary, 0 if it holds none.

        Raises ArrowInvalid unless the values are whole and every index points to one of them.
        """
        dictionary, indices = array.dictionary, array.indices
        known = self._checked.get(column)
        if known is None or _place(dictionary) != _place(known[0]):
            check_array(dictionary)
            # Kept alive, so that its place in memory is not taken by another.
            known = self._checked[column] = (dictionary, _widest(dictionary))
        check_array(indices)
        bounds = pc.min_max(indices).as_py()
        if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < len(dictionary):
            raise pa.ArrowInvalid("an index points outside the dictionary")
        return known[1]


def _place(array: Any) -> tuple[Any, ...]:  # noqa: ANN401 - an array of pyarrow
    buffers = tuple(0 if buffer is None else buffer.address for buffer in array.buffers())
    return (len(array), array.offset, buffers)


def _widest(dictionary: Any) -> int:  # noqa: ANN401 - an array of pyarrow
    kind = dictionary.type
    if pa.types.is_string_view(kind):
        dictionary = dictionary.cast(pa.large_string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return 0
    return int(pc.max(pc.binary_length(dictionary)).as_py() or 0)
