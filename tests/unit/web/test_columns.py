"""What pages of the service and reports for people say of released columns: one file says it for both."""

from __future__ import annotations

from typing import Any

from app.reports.page import _environment
from app.web.visits import TEMPLATES

COLUMN: dict[str, Any] = {
    "name": "<town>", "role": "quasi_identifier", "given_by": "policy", "levels": None,
    "singled_out_share": 0.5, "judged_by": [], "warned_by": [], "waived": ["k"], "reason": None,
}  # fmt: skip
RELEASE = {"date": "2026-11-22", "name": "first", "csv_sha256": "ab", "judged_by": [], "order": "records"}


def test_pages_and_reports_show_columns_by_the_same_file():
    said = set()
    for environment in (TEMPLATES, _environment()):
        template = environment.get_template("shared/columns.html")
        module: Any = template.make_module({})
        said.add(
            str(
                module.columns_section(
                    {"explanation": "Not covered.", "uncovered": [], "columns": [COLUMN]},
                    {"explanation": "Judged alone.", "releases": [RELEASE]},
                )
            ).replace("\n", "")
        )
        page = environment.get_template("verdict.html")
        source = environment.loader.get_source(environment, page.name or "")[0]  # type: ignore[union-attr]
        assert "shared/columns.html" in source
    (text,) = said
    assert "&lt;town&gt;" in text
    assert "no blocking criterion; not judged by k, for it is waived" in text
    assert "first, not taken into account, in the records’ order" in text
    # Verdicts of earlier versions say neither.
    old = {name: value for name, value in COLUMN.items() if name != "waived"}
    module = TEMPLATES.get_template("shared/columns.html").make_module({})
    assert "waived" not in str(
        module.columns_section({"explanation": "", "uncovered": [], "columns": [old]}, None)
    )
