"""Write a model and its tokenizer to a folder that plain transformers reads."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from torch.nn.utils import parametrize

from ticketlab.backbone.quiet import quiet
from ticketlab.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def save(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: str | Path) -> Path:
    """Write a model as safetensors, with its config and tokenizer, all or nothing.

    An earlier model in the folder is replaced; any other file there is a reason to refuse. Returns the folder.

    :raises UsageError: the folder holds other files or cannot be written.
    :raises ValueError: the model still carries parametrizations, under whose names a plain reload would not find its weights.
    """
    covered = [name for name, module in model.named_modules() if parametrize.is_parametrized(module)]
    if covered:
        raise ValueError(f"`{covered[0]}` and {len(covered) - 1} more carry parametrizations; detach them before saving")
    folder = Path(folder).absolute()
    mark = uuid.uuid4().hex[:8]
    partial, former = folder.with_name(f".{folder.name}.{mark}"), folder.with_name(f".{folder.name}.{mark}.old")
    try:
        partial.mkdir(parents=True)
        state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
        with quiet():
            model.save_pretrained(partial, state_dict=state)
            tokenizer.save_pretrained(partial)
        _check_free(folder, {file.name for file in partial.iterdir()})
        if folder.exists():
            os.replace(folder, former)  # noqa: PTH105
        os.replace(partial, folder)  # noqa: PTH105
    except OSError as problem:
        raise UsageError(f"{folder}: cannot be written ({problem.strerror or problem})") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(former, ignore_errors=True)
    return folder


def _check_free(folder: Path, files: set[str]) -> None:
    if folder.is_file():
        raise UsageError(f"{folder}: is a file; give a folder")
    others = sorted({file.name for file in folder.iterdir()} - files) if folder.is_dir() else []
    if others:
        raise UsageError(f"{folder}: holds other files (`{others[0]}`); give a new folder")
