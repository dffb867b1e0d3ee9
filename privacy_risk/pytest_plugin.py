"""The fixture ``privacy_gate`` for tests of pipelines; what judges is loaded when a test uses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from privacy_risk.gating import Policy, Verdict


@pytest.fixture(scope="session")
def privacy_gate() -> Callable[..., Verdict]:
    """Judge a table or views by a policy, as ``privacy_risk.gate`` does with the same arguments.

    The test fails with the verdict's reasons unless they pass; the verdict of what passes is returned.
    """

    def judge(policy: Policy, *arguments: object, **options: Any) -> Verdict:  # noqa: ANN401
        from privacy_risk.gating import gate

        verdict = gate(policy, *arguments, **options)
        if not verdict.passed:
            pytest.fail(str(verdict), pytrace=False)
        return verdict

    return judge
