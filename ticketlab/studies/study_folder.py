"""The folders of studies in a lab: their names, and which definition each is of."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import files
from ticketlab.core.errors import UsageError
from ticketlab.lab.layout import CELLS, STUDIES
from ticketlab.recipes.run_name import file_system_safe
from ticketlab.runs.run_directory import check_name
from ticketlab.studies.definition import Study

DEFINITION, PLAN = "study.toml", "plan.json"
DIGITS = 10
"""How many digits of the digest of a definition the name of a folder has."""


def own_name(study: str, digest: str) -> str:
    """Return the name of a study's folder: its own name and the first digits of the digest of its definition."""
    return f"{file_system_safe(study)}-{digest[:DIGITS]}"


def study_folder(lab: Path, study: Study, name: str | None = None) -> Path:
    """Return the folder of a study: ``name``, or its own name and the first digits of the digest of its definition.

    :raises UsageError: ``name`` is the name of another study.
    """
    if name is None:
        return lab / STUDIES / own_name(study.name, study.digest())
    check_name(name)
    folder = lab / STUDIES / name
    check_same(folder, study)
    return folder


def check_same(folder: Path, study: Study) -> None:
    """Check that a folder, if it is that of a study, is that of this one.

    :raises UsageError: it is another study, or its file is damaged.
    """
    if is_study(folder) and _digest(folder) != study.digest():
        raise UsageError(
            f"--name {folder.name}: {folder} is a study with other arguments; give the same ones, choose another name, "
            f"or remove it (ticketlab lab rm {folder.name})"
        )


def _digest(folder: Path) -> str:
    """Return the digest of the study that a folder is of.

    :raises UsageError: its file is damaged.
    """
    try:
        return str(files.read_json(folder / CELLS)["digest"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(f"{folder / CELLS}: damaged; remove the study (ticketlab lab rm {folder.name}) or choose another name") from None


def is_study(folder: Path) -> bool:
    """Return whether a folder is that of a study."""
    return (folder / CELLS).is_file() and (folder / DEFINITION).is_file()


def study_folders(lab: Path, pattern: str = "*") -> list[Path]:
    """Return the folders of a lab's studies whose names match a glob pattern, sorted."""
    return [folder for folder in sorted((lab / STUDIES).glob(pattern)) if is_study(folder)]
