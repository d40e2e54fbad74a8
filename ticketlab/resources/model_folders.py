"""Checks whether a folder holds a model and its tokenizer, without loading them, so that errors are reported before any work."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import files
from ticketlab.lab.layout import is_run


def problem_of(place: str) -> str | None:
    """Return why transformers cannot load a model from a folder; None if no problem can be seen without loading it."""
    from ticketlab.backbone.tokenizer import FILES as TOKENIZER_FILES

    folder = Path(place)
    if not folder.is_dir():
        return "it is a file; name the folder of a model"
    if not (folder / "config.json").is_file():
        run = " (it is a run of a lab)" if is_run(folder) else ""
        return f"the folder has no config.json, so it is not a model{run}"
    try:
        config = files.read_json(folder / "config.json")
    except (OSError, ValueError, RecursionError):
        config = None
    if not isinstance(config, dict):
        return "its config.json is damaged"
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        pickled = ", only pickled ones, which are not loaded" if (folder / "pytorch_model.bin").is_file() else ""
        return f"the folder has no weights (model.safetensors){pickled}"
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        return f"the folder has no tokenizer ({', '.join(TOKENIZER_FILES[:3])})"
    return next((f"{file.name} is damaged" for file in weights if not _is_whole(file)), None)


def _is_whole(file: Path) -> bool:
    """Return whether the header of a safetensors file can be read and agrees with the length of the file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np"):
            return True
    except (SafetensorError, OSError):
        return False
