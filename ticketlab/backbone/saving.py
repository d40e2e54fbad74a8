"""Write a model and its tokenizer to a folder that plain transformers reads."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from torch.nn.utils import parametrize

from ticketlab.backbone.transformers_messages import quiet
from ticketlab.core import disk_and_memory, files, temporary
from ticketlab.core.errors import UsageError
from ticketlab.tasks.trained_on import FILE

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from ticketlab.tasks.trained_on import TrainedOn


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: str | Path, trained_on: TrainedOn | None = None) -> Path:
    """Write a model as safetensors, with its config, its tokenizer and what is known of the texts it was trained on, all or nothing.

    An earlier model in the folder is replaced; any other file there is a reason to refuse. Returns the folder.

    :raises UsageError: the folder holds other files or cannot be written.
    :raises ValueError: the model still carries parametrizations, under whose names a plain reload would not find its weights.
    """
    with whole_folder(folder) as partial:
        write_model(model, tokenizer, partial, trained_on)
    return files.expand(folder).absolute()


def write_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path, trained_on: TrainedOn | None = None) -> None:
    """Write what :func:`save` writes into a folder that is there. Raises ``ValueError`` as :func:`save`."""
    covered = [name for name, module in model.named_modules() if parametrize.is_parametrized(module)]
    if covered:
        raise ValueError(f"`{covered[0]}` and {len(covered) - 1} more carry parametrizations; detach them before saving")
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    with quiet():
        model.save_pretrained(folder, state_dict=state)
        tokenizer.save_pretrained(folder)
    if trained_on is not None:
        trained_on.save(folder)


@contextlib.contextmanager
def whole_folder(folder: str | Path) -> Iterator[Path]:
    """Yield an empty folder to write into; it takes the place of ``folder`` when the block ends, and vanishes if it fails.

    A folder there is replaced if it is empty, or a model's and holds no other files than the new one.

    :raises UsageError: the folder holds other files or cannot be written.
    :raises OutOfSpace: the disk is full.
    """
    folder = files.expand(folder).absolute()
    temporary.sweep_beside(folder)
    partial = temporary.path_beside(folder)
    former = partial.with_name(f"{partial.name}.old")
    try:
        with disk_and_memory.writing(folder):
            partial.mkdir(parents=True)
            yield partial
        _check_free(folder, {FILE, *(file.name for file in partial.iterdir())})
        if folder.exists():
            os.replace(folder, former)  # noqa: PTH105
        os.replace(partial, folder)  # noqa: PTH105
    except OSError as problem:
        raise UsageError(f"{folder}: cannot be written ({problem.strerror or problem})") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(former, ignore_errors=True)


def _check_free(folder: Path, files: set[str]) -> None:
    if folder.is_file():
        raise UsageError(f"{folder}: is a file; give a folder")
    ours = files if (folder / "config.json").is_file() else set()  # what is no model was not written by us
    others = sorted({file.name for file in folder.iterdir()} - ours) if folder.is_dir() else []
    if others:
        raise UsageError(f"{folder}: holds other files (`{others[0]}`); give a new folder")
