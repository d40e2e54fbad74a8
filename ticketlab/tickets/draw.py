"""Draw a ticket: rank the scores of each group of units and remove exactly the requested fraction."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, TypeVar, get_args

import numpy as np
import torch
from torch import Tensor

from ticketlab.core.errors import UsageError

T = TypeVar("T")
Scope = Literal["global", "local"]
SCOPES = get_args(Scope)


def draw(
    scores: Mapping[str, Tensor],
    sparsity: float | Mapping[str, float],
    scope: Scope | Mapping[str, Scope] = "global",
    keep_a_head: bool = True,
) -> dict[str, Tensor]:
    """Return boolean masks, True for kept units, with the names and shapes of ``scores``.

    Each group (the text before the first ``/``) is ranked separately, as one list (``global``) or tensor by tensor (``local``), and loses
    :func:`removed_count` units: those with the lowest scores, ties in the order of their positions. A larger sparsity removes a superset.
    ``sparsity`` and ``scope`` may be mappings with an entry for every group. With ``keep_a_head`` the best head of each layer is kept; the
    number of removed units is still exact.

    :raises UsageError: a score is NaN; a sparsity is missing, unknown or outside 0 to 1; or more heads must be removed than
        ``keep_a_head`` allows.
    """
    masks: dict[str, Tensor] = {}
    for group, ratio in _ratios(scores, sparsity).items():
        members = {name: _values(name, tensor) for name, tensor in scores.items() if group_of(name) == group}
        keep_best = keep_a_head and group == "heads"
        is_global = (scope if isinstance(scope, str) else scope[group]) == "global"
        parts = [members] if is_global else [{name: values} for name, values in members.items()]
        for part in parts:
            removed = removed_count(ratio, sum(values.size for values in part.values()))
            masks |= _remove_lowest(part, removed, keep_best)
    return {name: masks[name].reshape(tensor.shape) for name, tensor in scores.items()}


def draw_like(scores: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return masks drawn from ``scores`` that remove the same number of units from every tensor as ``masks``, those of another ticket.

    :raises UsageError: the scores and the masks have different units, or a score is NaN.
    """
    if {name: mask.shape for name, mask in masks.items()} != {name: tensor.shape for name, tensor in scores.items()}:
        raise UsageError("the masks of the other ticket have different units or shapes than the scores")
    drawn = {}
    for name, tensor in scores.items():
        removed = int((~masks[name]).sum())
        drawn[name] = _remove_lowest({name: _values(name, tensor)}, removed, keep_best=False)[name].reshape(tensor.shape)
    return drawn


def for_groups(scores: Mapping[str, Tensor], common: T, **own: T | None) -> dict[str, T]:
    """Return a value for each group of the scores: the group's own if it has one, else the common value.

    :raises UsageError: a group that was not scored has its own value.
    """
    groups = dict.fromkeys(group_of(name) for name in scores)
    for group, value in own.items():
        if value is not None and group not in groups:
            raise UsageError(f"the search scored {' and '.join(groups)} only; remove the settings of {group}")
    return {group: common if (value := own.get(group)) is None else value for group in groups}


def group_of(name: str) -> str:
    """Return the group of a unit's name: ``heads`` for ``heads/3``."""
    return name.partition("/")[0]


def removed_share(masks: Mapping[str, Tensor]) -> dict[str, float]:
    """Return the removed fraction of each group of units."""
    shares: dict[str, float] = {}
    for group in dict.fromkeys(group_of(name) for name in masks):
        parts = [mask for name, mask in masks.items() if group_of(name) == group]
        total = sum(mask.numel() for mask in parts)
        shares[group] = (total - sum(int(torch.count_nonzero(mask)) for mask in parts)) / total if total else 0.0
    return shares


def removed_count(ratio: float, total: int) -> int:
    """Return the number of ``total`` units that a sparsity removes, rounded half up."""
    return math.floor(ratio * total + 0.5)


def _ratios(scores: Mapping[str, Tensor], sparsity: float | Mapping[str, float]) -> dict[str, float]:
    groups = list(dict.fromkeys(group_of(name) for name in scores))
    ratios = dict(sparsity) if isinstance(sparsity, Mapping) else dict.fromkeys(groups, sparsity)
    if set(ratios) != set(groups):
        raise UsageError(
            f"sparsity is given for {', '.join(sorted(ratios)) or 'nothing'}, but the scores are of {', '.join(groups) or 'nothing'}"
        )
    for group, ratio in ratios.items():
        if not 0 <= ratio <= 1:
            raise UsageError(f"sparsity of {group} must be between 0 and 1, not {ratio!r}")
    return {group: ratios[group] for group in groups}


def _values(name: str, tensor: Tensor) -> np.ndarray:
    """Flatten to float32, or to float64 if float32 could make distinct scores equal."""
    exact = tensor.dtype in (torch.float16, torch.bfloat16, torch.float32)
    values: np.ndarray = tensor.detach().cpu().reshape(-1).to(torch.float32 if exact else torch.float64).numpy()
    if np.isnan(values).any():
        raise UsageError(f"the scores `{name}` have {int(np.isnan(values).sum())} NaN values; a ticket cannot be drawn from them")
    return values


def _remove_lowest(part: Mapping[str, np.ndarray], removed: int, keep_best: bool) -> dict[str, Tensor]:
    """Rank the arrays as one list and remove the lowest ``removed`` scores. With ``keep_best``, the best unit of each array is kept."""
    best = {name: _best(values) for name, values in part.items() if keep_best and values.size}
    pool = np.concatenate([np.delete(values, best[name]) if name in best else values for name, values in part.items()])
    if removed > pool.size:
        raise UsageError(
            f"{removed} of {pool.size + len(best)} heads are to be removed, but each layer keeps one, so at most {pool.size} can be; "
            "lower the sparsity or turn keep_a_head off"
        )
    if removed == 0:
        return {name: torch.ones(values.size, dtype=torch.bool) for name, values in part.items()}
    pool.partition(removed - 1)
    highest = pool[removed - 1]
    ties = removed - int(np.count_nonzero(pool[:removed] < highest))
    masks = {}
    for name, values in part.items():
        kept = values > highest
        equal = np.flatnonzero(values == highest)
        if name in best:
            kept[best[name]] = True
            equal = equal[equal != best[name]]
        kept[equal[ties:]] = True
        ties -= min(ties, equal.size)
        masks[name] = torch.from_numpy(kept)
    return masks


def _best(values: np.ndarray) -> int:
    """Return the position of the unit that would be removed last: the highest score, the last one of ties."""
    return int(values.size - 1 - np.argmax(values[::-1]))
