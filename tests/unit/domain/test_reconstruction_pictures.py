"""The pictures about reconstruction in docs/measures.md are those that the product computes."""

from __future__ import annotations

import pytest

from tests.reconstruction_pictures import PICTURES, pictures


@pytest.mark.parametrize(("name", "text"), list(pictures()), ids=lambda own: own[:9])
def test_a_picture_is_what_is_computed(name: str, text: str):
    kept = (PICTURES / name).read_text(encoding="utf-8")
    assert kept == text, "Draw it anew by python -m tests.reconstruction_pictures."
    assert f"](reconstruction/{name})" in (PICTURES.parent / "measures.md").read_text(encoding="utf-8")
