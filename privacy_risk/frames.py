"""Tables of pandas as bodies of requests and from those of answers; pandas is loaded when one is used."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from privacy_risk.answers import AnswerError
from privacy_risk.parquet_reading import pandas_frame

if TYPE_CHECKING:
    import pandas as pd


def parquet_of(frame: pd.DataFrame) -> bytes:
    """The frame's columns as Parquet, without its index; ValueError if its columns have no distinct names."""
    if not all(isinstance(name, str) and name for name in frame.columns) or not frame.columns.is_unique:
        raise ValueError("The frame's columns need names: texts, no two of them the same.")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def frame_of(parquet: bytes) -> pd.DataFrame:
    """The table of a Parquet file; missing cells are None in columns of text. AnswerError for another one."""
    try:
        return pandas_frame(parquet)
    except (ValueError, OSError) as error:
        raise AnswerError("The answer is not a table in Parquet.") from error
