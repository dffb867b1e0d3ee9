"""The fixture ``privacy_gate`` for tests of pipelines; what judges is loaded when a test uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from privacy_risk.gating import Policy, Verdict


@pytest.fixture(scope="session")
def privacy_gate() -> Callable[..., Verdict]:
    """Judge a table by a policy, as ``privacy_risk.gate`` does with the same arguments.

    The test fails with the verdict's reasons unless the table passes; the verdict of one that passes is
    returned.
    """

    def judge(policy: Policy, frame: object, *, original: object, **options: Any) -> Verdict:  # noqa: ANN401
        from privacy_risk.gating import gate

        verdict = gate(policy, frame, original=original, **options)
        if not verdict.passed:
            pytest.fail(str(verdict), pytrace=False)
        return verdict

    return judge
