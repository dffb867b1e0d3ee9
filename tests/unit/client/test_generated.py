"""The blocking client is the other one without its ``await``."""

from __future__ import annotations

from pathlib import Path

from privacy_risk import generate_synchronous


def test_the_blocking_client_is_what_its_source_makes():
    assert generate_synchronous.drifted() == []


def test_a_changed_source_and_a_changed_copy_are_noticed(tmp_path: Path, monkeypatch):
    source, target = tmp_path / "asynchronous", tmp_path / "synchronous"
    source.mkdir(), target.mkdir()
    (source / "a.py").write_text(
        '"""Await it."""\n\n\nasync def f(g: AsyncIterator) -> int:\n    return await h()\n'
    )
    (target / "a.py").write_text("")
    (target / "left.py").write_text("")
    monkeypatch.setattr(generate_synchronous, "SOURCE", source)
    monkeypatch.setattr(generate_synchronous, "TARGET", target)
    assert generate_synchronous.main(["--check"]) == 1
    assert generate_synchronous.drifted() == ["a.py", "left.py"]
    assert generate_synchronous.main([]) == 0
    made = (target / "a.py").read_text()
    assert made.endswith('"""Await it."""\n\n\ndef f(g: Iterator) -> int:\n    return h()\n')
    assert not (target / "left.py").exists()
    assert generate_synchronous.main(["--check"]) == 0
