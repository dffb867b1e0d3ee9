"""The command that tries to refute a mechanism."""

import json

import numpy as np
import pytest

from app.cli.program import run

CHOSEN = {
    "epsilon": 1,
    "delta": 0.01,
    "least_records": 1,
    "dictionary": {"leaf": ["a", "a", "b"]},
    "trade_off": 0.05,
}
"""Of a histogram whose generalisations are chosen against a dictionary."""


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
        (("laplace_histogram", "--parameters", "[1]"), "--parameters: It is no JSON object."),
        (("laplace_histogram", "--only", "draws", "--runs", "10"), "--runs: 10 runs could hardly"),
        (
            ("stability_histogram", "--parameters", json.dumps(CHOSEN | {"dictionary": {"town": ["a"]}})),
            "no attribute 'town'",
        ),
        (("laplace_histogram", "--only", "draws", "--runs", "10"), "Give 400 or more"),
        (
            ("laplace_histogram", "--only", "draws", "--parameters", '{"epsilon": 13}'),
            "takes 52,428,800 runs, and at most 10,000,000 are kept to be counted. Audit exactly,",
        ),
        (
            (
                "stability_histogram",
                "--parameters",
                json.dumps(CHOSEN | {"dictionary": {"leaf": ["a", "c"]}}),
            ),
            "--parameters /dictionary/leaf/1: ",
        ),
        (
            ("stability_histogram", "--parameters", json.dumps(CHOSEN | {"trade_off": 0})),
            "--parameters /trade_off: A dictionary and a trade_off above 0 are given together",
        ),
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


@pytest.mark.parametrize(("trade_off", "needed"), [(0.05, 0.00492583), (0.5, 0.0)])
def test_what_is_chosen_against_a_dictionary_is_audited(capsys, trade_off, needed):
    """Where leaves are shown δ is needed as without a dictionary; where all become ⊥, nothing is."""
    given = json.dumps(CHOSEN | {"trade_off": trade_off})
    words = ("--parameters", given, "--runs", "400", "--json")
    status, out, _ = told(capsys, "stability_histogram", *words)
    exactly, drawn = json.loads(out)["audits"]
    assert (status, exactly["verdict"], drawn["verdict"]) == (0, "not refuted", "not refuted")
    assert exactly["needs"][0]["least"] == pytest.approx(needed, abs=1e-8)


def test_what_was_audited_is_told_with_its_dictionary(capsys):
    given = ("--parameters", json.dumps(CHOSEN), "--only", "exact")
    _, out, _ = told(capsys, "stability_histogram", *given)
    verdict, _, conclusion = out.splitlines()
    against = "against a dictionary of 3 entities"
    promised = "stability_histogram, ε = 1, δ = 0.01"
    assert verdict == f"{promised}, {against}, exactly, of small tables: not refuted"
    assert conclusion.startswith("Audited was the code of stability_histogram with {")
    assert '"trade_off": 0.05' in conclusion
    assert f"}}, {against}, on made-up tables and no dataset." in conclusion
    _, out, _ = told(capsys, "stability_histogram", *given, "--json")
    assert json.loads(out)["parameters"]["dictionary"] == CHOSEN["dictionary"]
    _, out, _ = told(capsys, "stability_histogram", "--only", "exact")
    assert "dictionary" not in out


def test_what_is_refuted_ends_with_one(capsys, monkeypatch):
    """A histogram that lacks its threshold, by the very laws of the command."""
    from app.domain.mechanisms import histogram_laws

    monkeypatch.setattr(histogram_laws, "published_counts", lambda n, z, threshold: (n + z).clip(0))
    status, out, _ = told(capsys, "stability_histogram", "--only", "exact")
    assert status == 1
    assert "exactly, of small tables: refuted: delta ≥ 0." in out


def test_what_is_refused_is_refused_before_a_verdict(capsys, monkeypatch):
    """Too few draws must not take the place of a refutation that was found before them."""
    from app.domain.mechanisms import histogram_laws

    monkeypatch.setattr(histogram_laws, "published_counts", lambda *_: pytest.fail("was computed"))
    status, out, err = told(capsys, "stability_histogram", "--runs", "10")
    assert (status, out) == (1, "")
    assert "--runs: 10 runs could hardly" in err


@pytest.mark.parametrize("method", ["exact", "draws"])
def test_a_choice_that_depends_on_other_records_is_refuted(capsys, monkeypatch, method):
    """Broken on purpose: where all records are alike each is suppressed, else it stays as it is."""
    from app.domain.mechanisms import stability_histogram

    def depends(records, dictionary, scores):
        is_alike = len(records.codes) == 1
        return (np.where(is_alike, 0, records.codes[:, 0]).astype(np.int32),)

    monkeypatch.setattr(stability_histogram, "best_generalisations", depends)
    given = json.dumps(CHOSEN | {"least_records": 40})
    words = ("--only", method, "--runs", "2000", "--parameters", given)
    status, out, _ = told(capsys, "stability_histogram", *words)
    assert status == 1
    assert ": refuted: " in out
