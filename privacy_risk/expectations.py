"""An expectation for Great Expectations 1.x: a table passes the gate of a policy.

Needs Great Expectations, and is imported by nothing else here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
from great_expectations.expectations.expectation import BatchExpectation

from privacy_risk.answers import ClientError
from privacy_risk.gating import Verdict, gate
from privacy_risk.parquet_folders import parquet_folder
from privacy_risk.parquet_reading import pandas_frame


class ExpectTableToPassPrivacyGate(BatchExpectation):  # type: ignore[misc]  # is not installed here
    """Expect the table, which is to leave, to pass a policy.

    The arguments are those of :func:`privacy_risk.gate`, as texts that a suite can store: ``policy`` is its
    file, ``original`` the file of the table that this one was made of, CSV or Parquet, or a folder of
    Parquet pieces. Without ``server`` one is started; a key is in ``PRIVACY_RISK_API_KEY``, and in no suite.
    The whole table is judged, by any engine. What cannot be judged has not passed.
    """

    policy: str
    original: str
    roles: dict[str, str] = {}  # noqa: RUF012 - Great Expectations copies it
    hierarchies: dict[str, Any] = {}  # noqa: RUF012
    server: str | None = None
    n_rows: int = 1
    fetch_all: bool = True

    metric_dependencies: ClassVar[tuple[str, ...]] = ("table.head",)
    success_keys: ClassVar[tuple[str, ...]] = (
        "policy", "original", "roles", "hierarchies", "server", "n_rows", "fetch_all",
    )  # fmt: skip
    args_keys: ClassVar[tuple[str, ...]] = ("policy", "original")

    def _validate(
        self,
        metrics: dict[str, Any],
        runtime_configuration: dict[str, Any] | None = None,
        execution_engine: object | None = None,
    ) -> dict[str, Any]:
        verdict = self._verdict(metrics["table.head"])
        observed = {"outcome": verdict.outcome, "policy": verdict.policy, "reasons": list(verdict.reasons)}
        return {"success": verdict.passed, "result": {"observed_value": observed}}

    def _verdict(self, frame: pd.DataFrame) -> Verdict:
        try:
            return gate(
                self.policy,
                frame,
                original=_table(self.original),
                roles=self.roles,
                hierarchies=self.hierarchies,
                server=self.server,
                key=os.environ.get("PRIVACY_RISK_API_KEY") if self.server else None,
            )
        except ClientError as error:
            return Verdict("error", self.policy, (str(error),))


def _table(file: str) -> object:
    """The table of a file, its cells as they are written."""
    path = Path(file)
    if path.is_dir():
        return parquet_folder(path)
    if path.suffix == ".parquet":
        return pandas_frame(path)
    return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
