"""References to stages and their checkpoints, as recipes write them: ``finetune``, ``finetune@500``, ``search@55%``."""

from __future__ import annotations

import re

_CHECKPOINT = re.compile(r"([\w-]+)@([0-9]{1,9}|[0-9]{1,3}(?:\.[0-9]{1,9})?%)")


def split_checkpoint(value: str) -> tuple[str, str]:
    """Split ``finetune@500`` or ``finetune@55%`` into the stage and the checkpoint. For a plain name the checkpoint is empty."""
    match = _CHECKPOINT.fullmatch(value)
    return (match[1], match[2]) if match else (value, "")


def stage_of(value: str) -> str:
    """Return the stage that a reference names, without a checkpoint."""
    return split_checkpoint(value)[0]
