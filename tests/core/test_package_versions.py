"""The versions that machines are compared by."""

import platform

import torch

from ticketlab.core import package_versions


def test_equal_machines_have_no_differences():
    here = package_versions.computing_versions()
    assert here["Python"] == platform.python_version()
    assert here["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    assert package_versions.differences(dict(here), here) == []


def test_each_difference_names_both_versions():
    here = {"torch": "2.13.0", "numpy": "2.0", "textattack": "0.3"}
    there = {"torch": "2.12.0", "numpy": "2.0"}
    assert package_versions.differences(there, here) == ["torch 2.12.0 (here 2.13.0)", "textattack not installed (here 0.3)"]


def test_the_code_of_a_checkout_counts(tmp_path, monkeypatch):
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "package_versions.py").write_text("")
    monkeypatch.setattr(package_versions, "__file__", str(tmp_path / "core" / "package_versions.py"))
    digest = package_versions._digest_of_code.__wrapped__
    before = digest()
    (tmp_path / "new.py").write_text("")
    assert digest() != before
