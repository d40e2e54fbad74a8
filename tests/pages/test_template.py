from __future__ import annotations

from pathlib import Path

import pytest

from ticketlab.pages import template

ROOT = Path(__file__).parents[2]


def test_scripts_can_be_inlined() -> None:
    for name in ("page.js", "theme.js"):
        assert "</" not in template.asset(name)


def test_templates_are_in_the_wheel() -> None:
    builders = pytest.importorskip("hatchling.builders.wheel")
    packed = {included.distribution_path for included in builders.WheelBuilder(str(ROOT)).recurse_included_files()}
    templates = sorted((ROOT / "ticketlab" / "pages" / "templates").iterdir())
    assert len(templates) == 5
    assert {str(path.relative_to(ROOT)) for path in templates} <= packed
