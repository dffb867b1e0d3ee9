"""What the demonstration of a cluster says of what came back; the fault tests have the cluster itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.cli import cluster_demo
from app.cli.program import run
from app.services.runs.run_execution import FinishedBlock

RULES = [(city, race, 0, 0) for city in range(5) for race in range(3)]
SMALL = ("--members", "300", "--entities", "800")


def told(monkeypatch, capsys, altered=None, killed=2.0, left_out=0):
    """Status and text of the command whose cluster alters a block, leaves some out, or dies too early."""

    async def on_a_cluster(work, folder):
        blocks = [
            FinishedBlock(i, 10, work.run_block(i, lambda _: None), cluster_demo.SURVIVOR, 1.0, 2.0)
            for i in range(work.n_blocks - left_out)
        ]
        if altered is not None:
            other = blocks[altered].payload.replace(b"0.", b"1.", 1)
            blocks[altered] = replace(blocks[altered], payload=other)
        return cluster_demo._Found(blocks, 1.0, killed)

    monkeypatch.setattr(cluster_demo.RulesOfCaseStudy, "rules", RULES)
    monkeypatch.setattr(cluster_demo, "_on_a_cluster", on_a_cluster)
    monkeypatch.setattr(cluster_demo, "find_spec", lambda name: name)
    return run(["cluster-demo", *SMALL], None), capsys.readouterr().out


def test_the_same_bytes_are_said_to_be_the_same(monkeypatch, capsys):
    status, out = told(monkeypatch, capsys)
    assert status == 0
    assert "15 rules, 300 members, 800 people" in out
    assert "The bytes are the same." in out


@pytest.mark.parametrize("fault", [{"altered": 1}, {"left_out": 1}])
def test_one_altered_or_missing_block_is_noticed(monkeypatch, capsys, fault):
    status, out = told(monkeypatch, capsys, **fault)
    assert status == 1
    assert "THE BYTES DIFFER." in out


def test_a_cluster_that_ends_before_the_kill_shows_nothing(monkeypatch, capsys):
    status, out = told(monkeypatch, capsys, killed=0.0)
    assert status == 1
    assert "did not come as far as the kill" in out


def test_without_dask_it_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr(cluster_demo, "find_spec", lambda name: None)
    assert run(["cluster-demo"], None) == 1
    assert "pip install 'privacy-risk[cluster]'" in capsys.readouterr().err
