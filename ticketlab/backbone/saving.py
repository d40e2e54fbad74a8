"""Save a model and its tokenizer, atomically, to a folder that plain transformers can load."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from torch.nn.utils import parametrize

from ticketlab.backbone.transformers_messages import silence_transformers
from ticketlab.core import disk_and_memory, files, temporary
from ticketlab.core.errors import UsageError
from ticketlab.tasks.trained_on import FILE

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ticketlab.tasks.trained_on import TrainedOn


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: str | Path, trained_on: TrainedOn | None = None) -> Path:
    """Write a model as safetensors with its config, its tokenizer and the record of its training texts, atomically.

    A model that is already in the folder is replaced. Returns the folder.

    :raises UsageError: the folder holds other files or cannot be written.
    :raises ValueError: the model still has parametrizations, which would change the names of its weights.
    """
    with whole_folder(folder) as partial:
        write_model(model, tokenizer, partial, trained_on)
    return files.expand(folder).absolute()


def write_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path, trained_on: TrainedOn | None = None) -> None:
    """Write the files of :func:`save` into an existing folder. Raises ``ValueError`` as :func:`save`."""
    covered = [name for name, module in model.named_modules() if parametrize.is_parametrized(module)]
    if covered:
        raise ValueError(f"`{covered[0]}` and {len(covered) - 1} more have parametrizations; detach them before saving")
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    with silence_transformers():
        model.save_pretrained(folder, state_dict=state)
        tokenizer.save_pretrained(folder)
    if trained_on is not None:
        trained_on.save(folder)


@contextlib.contextmanager
def whole_folder(folder: str | Path) -> Iterator[Path]:
    """Yield an empty folder to write into. It replaces ``folder`` at the end of the block, or is deleted if the block fails.

    An existing folder is replaced if it is empty, or if it is a model's and holds no files that the new one lacks.

    :raises UsageError: the folder holds other files or cannot be written.
    :raises OutOfSpace: the disk is full.
    """
    folder = files.expand(folder).absolute()
    temporary.sweep_temporaries_of(folder)
    partial = temporary.temporary_path(folder)
    former = partial.with_name(f"{partial.name}.old")
    try:
        with disk_and_memory.writing(folder):
            partial.mkdir(parents=True)
            yield partial
            files.apply_umask(partial.rglob("*"))
        _check_free(folder, {FILE, *(file.name for file in partial.iterdir())})
        if folder.exists():
            files.replace(folder, former)
        files.replace(partial, folder)
    except OSError as problem:
        raise UsageError(f"{folder}: cannot be written ({problem.strerror or problem})") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(former, ignore_errors=True)


def _check_free(folder: Path, files: set[str]) -> None:
    if folder.is_file():
        raise UsageError(f"{folder}: is a file; give a folder")
    ours = files if (folder / "config.json").is_file() else set()  # a folder without a model was not written by ticketlab
    others = sorted({file.name for file in folder.iterdir()} - ours) if folder.is_dir() else []
    if others:
        raise UsageError(f"{folder}: holds other files (`{others[0]}`); give a new folder")
