"""Snapshots of a search: its scores at the steps that draws name, and the masks that would have been drawn at every observation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from attrs import frozen
from torch import Tensor

from ticketlab.core import progress
from ticketlab.core.callback import Callback
from ticketlab.core.errors import UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab.layout import MASKS, scores_file
from ticketlab.stages.base import Context, step_of
from ticketlab.stages.step_snapshots import StepSnapshots
from ticketlab.stop_rules.base import StopRule
from ticketlab.stop_rules.callback import ends_mini_epoch
from ticketlab.stop_rules.mask_distance import MaskDistance
from ticketlab.tickets.draw import Scope, draw
from ticketlab.tickets.scores import save_scores
from ticketlab.tickets.snapshots import pack, packed_size, save_packed

KeptMasks = Literal["looks", "evaluations"]
KEPT_MASKS = get_args(KeptMasks)
LARGE, LARGEST = 2**27, 2**30
"""Sizes of the file of masks, in bytes, from which it is announced and above which it is refused."""
Scores = Callable[[], Mapping[str, Tensor]]


class ScoreSnapshots(StepSnapshots):
    """Saves the scores that draws use, ``scores@STEP.safetensors``, during the search."""

    def __init__(self, context: Context, scores: Scores, steps: int) -> None:
        self._scores = scores
        super().__init__(context, steps)

    def path(self, at: str) -> Path:
        """Return the file of scores."""
        return self._directory / scores_file(at)

    def write(self, path: Path, step: int) -> None:
        """Write the scores."""
        save_scores(self._scores(), path)


def ended_before(at: str, found: Mapping[str, Any]) -> str:
    """Return why a finished search has no scores at ``at``, if its stop rule ended it before; else an empty string.

    ``found`` is the entry ``search`` of the stage's result.
    """
    planned, steps, stop = found.get("planned_steps"), found.get("steps", 0), found.get("stop", {})
    if planned is None or not stop.get("stopped") or step_of(at, planned) <= steps:
        return ""
    return f"the stop rule `{stop.get('rule')}` ended the search after step {steps}, and {at} is step {step_of(at, planned)} of {planned}"


@frozen
class MaskDrawing:
    """How the masks of snapshots are drawn: as a stop rule compares them, or else at the sparsities (by group) and scope of the search."""

    rule: StopRule
    sparsity: Mapping[str, float]
    scope: Scope

    def masks(self, scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the masks."""
        return (
            self.rule.masks(scores) if isinstance(self.rule, MaskDistance) else draw(scores, self.sparsity, self.scope, keep_a_head=False)
        )


class MaskSnapshots(Callback):
    """Collects the masks of a search at the end of each mini-epoch (``looks``) or at each evaluation, and writes them at its end.

    They are part of the checkpoints of the search, so that a resumed search has those from before the interruption.

    :raises UsageError: the file would be larger than :data:`LARGEST`.
    """

    observes: ClassVar[bool] = True

    def __init__(self, kept: KeptMasks, drawing: MaskDrawing, scores: Scores, *, title: str, steps: int, steps_per_snapshot: float) -> None:
        self._kept = kept
        self._drawing = drawing
        self._scores = scores
        self._steps_per_snapshot = steps_per_snapshot
        self._shapes = {name: tuple(score.shape) for name, score in scores().items()}
        self._packed: dict[int, dict[str, Tensor]] = {}
        self._check_size(title, packed_size(self._shapes), math.ceil(steps / max(1.0, steps_per_snapshot)))

    def on_step_end(self, step: int) -> bool:
        """Keep the masks if a mini-epoch has just ended."""
        if self._kept == "looks" and ends_mini_epoch(step + 1, self._steps_per_snapshot):
            self._keep(step + 1)
        return False

    def after_evaluation(self, step: int) -> None:
        """Keep the masks after an evaluation at ``step``."""
        if self._kept == "evaluations":
            self._keep(step)

    def save(self, context: Context) -> dict[str, Any]:
        """Write the file, and return the entry of the stage's result."""
        save_packed(self._packed, self._shapes, context.directory / MASKS)
        return {"at": self._kept, "steps": sorted(self._packed)}

    def state_dict(self) -> dict[str, Tensor]:
        """Return the masks so far, with eight units per byte."""
        return {f"{step}/{name}": mask for step, masks in self._packed.items() for name, mask in masks.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` returned."""
        self._packed = {}
        for key, mask in state.items():
            step, _, name = key.partition("/")
            self._packed.setdefault(int(step), {})[name] = mask

    def _keep(self, step: int) -> None:
        self._packed[step] = pack(self._drawing.masks(self._scores()))

    def _check_size(self, title: str, one: int, count: int) -> None:
        size = f"{counted(count, 'mask')} of {one / 1e6:.3g} MB"
        if one * count > LARGEST:
            raise UsageError(
                f"{title}.keep_masks: up to {size} are more than {LARGEST / 1e9:.2g} GB; keep fewer (`evaluations`, or a larger "
                f"{title}.stop.interval or {title}.eval_steps), or search heads and neurons instead of single weights"
            )
        if one * count > LARGE:
            progress.say(f"{title}: keeps up to {size}")
