"""Whether a folder can hold a model and its tokenizer, found out without loading it: in time to say so before any work."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import files
from ticketlab.lab.layout import is_run


def lack(place: str) -> str | None:
    """Return what keeps a folder from being a model that transformers reads; None for nothing that can be seen from outside."""
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
        pickled = " but pickled ones, which are not read" if (folder / "pytorch_model.bin").is_file() else ""
        return f"the folder has no weights (model.safetensors){pickled}"
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        return f"the folder has no tokenizer ({', '.join(TOKENIZER_FILES[:3])})"
    return next((f"{file.name} is damaged" for file in weights if not _is_whole(file)), None)


def _is_whole(file: Path) -> bool:
    """Say whether the header of a file of tensors can be read, and the file is as long as that says."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np"):
            return True
    except (SafetensorError, OSError):
        return False
