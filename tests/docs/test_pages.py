"""The commands and the code of the pages work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from attrs import evolve
from support.doc_blocks import ROOT, SHELL, Block, Reader, blocks, commands, pages

PAGES = {str(page.relative_to(ROOT)): page for page in pages()}
INSTALL_AND = re.compile(r"^(pip install .+?) && (.+)$", re.MULTILINE)


@pytest.mark.system
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "page", [name for name, page in PAGES.items() if any(block.language in (*SHELL, "python") for block in blocks(page))]
)
def test_every_command_of_a_page_works(page: str, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    source = ROOT / Path(page).parent / "src"
    if source.is_dir():  # the README of a plugin: load its package
        monkeypatch.syspath_prepend(source)
        reader = evolve(reader, plugins=[str(next(source.glob("*/__init__.py")))])
    reader.do(PAGES[page])


def test_a_command_without_a_rule_fails(reader: Reader) -> None:
    with pytest.raises(pytest.fail.Exception, match="no rule for `make install`"):
        reader.do_block(Block("bash", "make install\n", 1))
    with pytest.raises(AssertionError, match="no replacement for `elsewhere`"):
        reader.do_block(Block("console", "$ ticketlab run fine-tune --task elsewhere\n", 1))


def test_the_tests_of_a_page_may_fail_and_its_files_may_change(reader: Reader) -> None:
    reader.do_block(Block("python", "# test_own.py\nfrom own import NUMBER\n\ndef test_number():\n    assert NUMBER == 2\n", 1))
    reader.do_block(Block("python", "# own.py\nNUMBER = 1\n", 1))
    with pytest.raises(AssertionError, match="1 failed"):
        reader.run(["pytest", "test_own.py"])
    reader.do_block(Block("python", "# own.py\nNUMBER = 2\n", 1))
    reader.run(["pytest"])


def test_the_readme_has_one_command_for_the_demo_and_one_for_the_tests() -> None:
    found = INSTALL_AND.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [then for _, then in found] == ["ticketlab demo", "python -m pytest -n 2"]


def test_ci_installs_and_tests_as_the_readme_says() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (install, test) = INSTALL_AND.findall((ROOT / "README.md").read_text(encoding="utf-8"))[1]
    assert install.removeprefix("pip install ") in script
    assert len(re.findall(rf"^ *{re.escape(test)}$", script, re.MULTILINE)) == 1


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 220


@pytest.mark.parametrize("page", PAGES)
def test_links_to_other_pages_are_not_broken(page: str) -> None:
    text = PAGES[page].read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text) if "://" not in target]
    assert [target for target in targets if not (PAGES[page].parent / target).exists()] == []


def test_commands_are_split_as_in_a_shell() -> None:
    block = Block("console", "$ pip install a && ticketlab run \\\n    --task x  # a remark\noutput\n", 1)
    assert [shlex.join(words) for words in commands(block)] == ["pip install a", "ticketlab run --task x"]
