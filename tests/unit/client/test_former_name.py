"""Programs that import the client by its former name keep working for one release, and are told."""

import importlib

import pytest

import privacy_risk


def test_the_former_name_gives_the_same_client_and_warns():
    with pytest.warns(DeprecationWarning, match="app.client is now called privacy_risk"):
        former = importlib.import_module("app.client")
    assert former.Client is privacy_risk.Client
    assert former.AsyncClient is privacy_risk.AsyncClient
