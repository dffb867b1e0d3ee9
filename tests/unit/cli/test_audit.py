"""The command that tries to refute a mechanism."""

import json

import pytest

from app.cli.program import run

CHOSEN = {
    "epsilon": 1,
    "delta": 0.01,
    "least_records": 1,
    "dictionary": {"leaf": ["a", "b"]},
    "trade_off": 1,
}


def told(capsys, *words):
    status = run(["audit", *words], None)
    said = capsys.readouterr()
    return status, said.out, said.err


def test_both_audits_of_a_mechanism_are_told(capsys):
    status, out, _ = told(capsys, "stability_histogram", "--runs", "800")
    assert status == 0
    assert "ε = 1, δ = 0.01, exactly, of small tables: not refuted" in out
    assert "by draws of hard pairs: not refuted" in out
    assert "delta: 0.00492583 needed, 0.01 promised" in out


@pytest.mark.parametrize(("trade_off", "needed"), [(0.5, 0.00492583), (5, 0)])
def test_a_histogram_is_audited_as_it_chooses_against_a_dictionary(capsys, trade_off, needed):
    """With λ = 5 all records become ⊥, of which none is alone beside another."""
    given = json.dumps(CHOSEN | {"trade_off": trade_off})
    status, out, _ = told(capsys, "stability_histogram", "--runs", "800", "--parameters", given, "--json")
    exact, drawn = json.loads(out)["audits"]
    assert (status, exact["verdict"], drawn["verdict"]) == (0, "not refuted", "not refuted")
    assert exact["needs"][0]["least"] == pytest.approx(needed, abs=1e-8)
    assert len(drawn["tests"]) == 6


def test_the_document_is_the_one_of_the_service(capsys):
    given = json.dumps({"epsilon": 2})
    status, out, _ = told(capsys, "laplace_histogram", "--only", "exact", "--parameters", given, "--json")
    (found,) = json.loads(out)["audits"]
    assert (status, found["epsilon"], found["verdict"], found["is_refuted"]) == (0, 2.0, "not refuted", False)
    assert found["needs"][0]["part"] == "delta"


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("guess",), "'guess' is none of"),
        (("perturbation", "--parameters", '{"beta": 2}'), "promises no differential privacy"),
        (("laplace_histogram", "--parameters", '{"epsilon": "x"}'), "--parameters /epsilon"),
        (
            ("stability_histogram", "--parameters", json.dumps(CHOSEN | {"dictionary": {"town": ["a"]}})),
            "no attribute 'town'",
        ),
        (("laplace_histogram", "--only", "draws", "--runs", "10"), "Give 400 or more"),
        (("laplace_histogram", "--parameters", '{"epsilon": 0.01}'), "No exact audit is made"),
        (
            (
                *("stability_histogram", "--only", "draws", "--parameters"),
                '{"epsilon": 1, "delta": 1e-9, "least_records": 1000000}',
            ),
            "has 1,000,001 records",
        ),
    ],
)
def test_what_is_refused(capsys, words, what):
    status, _, err = told(capsys, *words)
    assert status == 1
    assert what in err


def test_what_is_refuted_ends_with_one(capsys, monkeypatch):
    """A histogram that lacks its threshold, by the very laws of the command."""
    from app.domain.mechanisms import histogram_laws

    monkeypatch.setattr(histogram_laws, "published_counts", lambda n, z, threshold: (n + z).clip(0))
    status, out, _ = told(capsys, "stability_histogram", "--only", "exact")
    assert status == 1
    assert "exactly, of small tables: refuted: delta ≥ 0." in out
