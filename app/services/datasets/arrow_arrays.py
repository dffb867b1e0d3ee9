"""Arrow's arrays from what is in memory, without what ``pyarrow.array`` does first: it loads pandas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from app.domain.arrays import Ints


def text_array(texts: Sequence[str]) -> pa.LargeStringArray:
    """Texts as an array, of which no size is too large."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.large_string(), len(encoded), buffers)


def int_array(numbers: Ints) -> pa.Int32Array:
    """Numbers as an array, which shares their memory where they lie one after another."""
    return pa.Array.from_buffers(
        pa.int32(), len(numbers), [None, pa.py_buffer(np.ascontiguousarray(numbers, dtype=np.int32))]
    )
