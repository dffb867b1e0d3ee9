"""The work of a stored audit."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.domain.errors import NotSupported
from app.services.releases.audit_work import audit_preparation
from app.services.resources import Kind, Stored, TenantId

pytestmark = pytest.mark.anyio


def stored(name: str, version: int) -> Stored:
    parameters = {"epsilon": 1, "delta": 0.01, "least_records": 1}
    document = {"mechanism": {"name": name, "version": version, "parameters": parameters}, "runs": None}
    return Stored("1", Kind.MECHANISM_AUDIT, "own", "0" * 64, datetime.now(UTC), {}, document)


async def test_what_means_something_else_by_now_is_not_audited_in_its_place():
    tenant = TenantId("tenant-1")
    assert (await audit_preparation(tenant, stored("stability_histogram", 1))).n_blocks > 0
    for name, version in (("stability_histogram", 0), ("forgotten", 1)):
        with pytest.raises(NotSupported, match="corrected since"):
            await audit_preparation(tenant, stored(name, version))
