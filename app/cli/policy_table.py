"""``policy lint`` beside data: the columns of a file, or those of a dataset that a server holds."""

from __future__ import annotations

import argparse
import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.cli.gate_service import measured, service_client
from app.cli.operations import Operations
from app.cli.table_pieces import table_pieces
from app.domain.arrays import Ints
from app.domain.direct_identifiers.recognition import RecognisedKind, recognised_kinds
from app.domain.errors import InvalidInput
from app.domain.gates.coverage import NOTHING_SHOWN, ReleasedColumn
from app.domain.gates.table_lint import check_columns, check_singled_out
from app.domain.policies.findings import Findings
from app.domain.policies.policy import Policy
from app.services.datasets.ingest.pieces import read_piece

_NO_ROLE: Final = "none"


def check_table(
    policy: Policy, arguments: argparse.Namespace, operations: Operations, found: Findings
) -> None:
    """Note what the table or dataset that was named says of the policy; nothing if none was.

    InvalidInput for both at once and for a file that is no table; ClientError for what the server refuses.
    """
    table, dataset = arguments.table, arguments.dataset
    if table is not None and dataset is not None:
        raise InvalidInput.of(
            "--table", "exactly-one", "The columns are those of a file or of a stored dataset.",
            "Give --table, or --server with --dataset.",
        )  # fmt: skip
    if table is not None:
        columns = asyncio.run(_columns(table, policy))
        kinds = {own.name: _kinds(own) for own in columns}
        check_columns(policy, list(kinds), kinds, found)
        # Which columns look like identifiers is said already.
        check_singled_out(policy, columns, lambda texts, counts: (), found)
    elif dataset is not None:
        # By the server's own measure; what singles people out is for a verdict to say.
        with service_client(arguments.server, operations) as client:
            declared = client.datasets.get(dataset).document["attributes"]
            result = measured(client, identifiers_of(dataset))
        kinds = {
            own["attribute"]: tuple(RecognisedKind(**kind) for kind in own["kinds"])
            for own in result["attributes"]
        }
        check_columns(policy, [own["name"] for own in declared], kinds, found)


def _kinds(column: ReleasedColumn) -> tuple[RecognisedKind, ...]:
    counts = column.counts
    shown = np.flatnonzero(counts)
    return recognised_kinds([column.texts[code] for code in shown.tolist()], counts[shown])


def identifiers_of(dataset: str) -> dict[str, Any]:
    """The question which of a dataset's columns look like direct identifiers as they are."""
    return {"dataset": dataset, "rule": {"kind": "identity"}, "measure": {"kind": "direct_identifiers"}}


async def _columns(path: Path, policy: Policy) -> list[ReleasedColumn]:
    """Every column as the service would read it, in the role that the policy gives it."""
    codes: dict[str, list[Ints]] = {}
    texts: dict[str, dict[str, int]] = {}
    async with aclosing(table_pieces(path)) as pieces:
        async for piece in pieces:
            table = read_piece(piece)
            for name, column in zip(table.column_names, table.columns, strict=True):
                known = texts.setdefault(name, {})
                codes.setdefault(name, []).append(_coded(column.combine_chunks(), known))
    return [
        ReleasedColumn(name, _role(policy, name), "policy", tuple(texts[name]), np.concatenate(codes[name]))
        for name in codes
    ]


def _coded(column: Any, known: dict[str, int]) -> Ints:  # noqa: ANN401 - an Arrow array
    """The cells as positions of their texts, which are added; an empty cell has no value."""
    own = [
        NOTHING_SHOWN if not text else known.setdefault(text, len(known))
        for text in column.dictionary.to_pylist()
    ]
    places = column.indices.fill_null(len(own)).to_numpy(zero_copy_only=False)
    codes: Ints = np.array([*own, NOTHING_SHOWN], dtype=np.int32)[places]
    return codes


def _role(policy: Policy, name: str) -> str:
    given = None if policy.schema is None else policy.schema.role_of(name)
    return _NO_ROLE if given is None else given[0]
