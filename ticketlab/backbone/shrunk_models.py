"""The classes of shrunk models: subclasses of transformers models that cut heads and neurons when they are built.

The config lists the units to keep. :mod:`ticketlab.backbone.shrinking` makes such models from full ones.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ticketlab.backbone.adapters import SHRUNK, adapter_of
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.resizing import cut_units
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel


class Shrunk:
    """Mixin of all shrunk models: they are built at full size and cut before any weights are loaded."""

    full_class: ClassVar[type]

    def __init__(self, config: PretrainedConfig, *inputs: Any, **named: Any) -> None:
        super().__init__(config, *inputs, **named)  # type: ignore[call-arg]
        kept = kept_units(config)
        cut_units(Backbone(self), kept, kept)


@functools.cache
def shrunk_class(model_class: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """Return the shrunk class of a model class. For a shrunk class it is the class itself."""
    if issubclass(model_class, Shrunk):
        return model_class
    facts = {"full_class": model_class, "config_class": shrunk_config_class(model_class.config_class), "__module__": __name__}
    return type(f"Shrunk{model_class.__name__}", (Shrunk, model_class), facts)


@functools.cache
def shrunk_config_class(config_class: type[PretrainedConfig]) -> type[PretrainedConfig]:
    """Return the config class of a family's shrunk models.

    Its ``model_type`` is unknown to plain transformers, which therefore refuses the folder. An instance has two additional fields,
    ``kept_heads`` and ``kept_neurons``, in the format of :func:`pack_mask`. The family's own fields keep the original sizes.
    """
    if config_class.model_type.startswith(SHRUNK):
        return config_class
    facts = {"model_type": f"{SHRUNK}{config_class.model_type}", "full_class": config_class, "__module__": __name__}
    return type(f"Shrunk{config_class.__name__}", (config_class,), facts)


def pack_mask(mask: Tensor) -> str:
    """Return a boolean mask as hexadecimal digits. The first unit is the highest bit of the first byte; the last byte is zero-padded."""
    return np.packbits(mask.cpu().numpy()).tobytes().hex()


def unpack_mask(digits: str, count: int) -> Tensor:
    """Return the mask of ``count`` units that :func:`pack_mask` packed.

    :raises ValueError: the digits are not hexadecimal, or do not stand for ``count`` units.
    """
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(digits), dtype=np.uint8))
    if len(bits) != -(-count // 8) * 8 or bits[count:].any():
        raise ValueError(f"`{digits[:16]}` is not a mask of {count} units")
    return torch.from_numpy(bits[:count].astype(bool))  # the only constructor that stays on the CPU under `torch.device("meta")`


def kept_units(config: PretrainedConfig) -> dict[str, Tensor]:
    """Return the masks in the config of a shrunk model, relative to the original size.

    :raises UsageError: they are missing or damaged.
    """
    adapter = adapter_of(config.model_type)
    masks: dict[str, Tensor] = {}
    layers = adapter.num_layers(config)
    for group, size in (("heads", adapter.num_heads(config)), ("neurons", adapter.num_neurons(config))):
        try:
            packed = getattr(config, f"kept_{group}")
            if len(packed) != layers:
                raise ValueError(f"{len(packed)} masks for {layers} layers")
            masks |= {f"{group}/{index}": unpack_mask(digits, size) for index, digits in enumerate(packed)}
        except (AttributeError, TypeError, ValueError) as problem:
            raise UsageError(f"`kept_{group}` in the shrunk model's config.json is damaged ({problem}); export the model again") from None
    return masks


def register(model_type: str) -> None:
    """Register the shrunk models of a family, given by its ``model_type``, with transformers' Auto classes. It may be called repeatedly.

    Families that this version of transformers lacks, and Auto classes without a model of the family, are skipped.
    """
    import transformers
    from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForSequenceClassification

    if model_type not in transformers.CONFIG_MAPPING:
        return
    config_class = transformers.CONFIG_MAPPING[model_type]
    shrunk = shrunk_config_class(config_class)
    AutoConfig.register(shrunk.model_type, shrunk, exist_ok=True)
    for auto, known in (
        (AutoModel, transformers.MODEL_MAPPING),
        (AutoModelForMaskedLM, transformers.MODEL_FOR_MASKED_LM_MAPPING),
        (AutoModelForSequenceClassification, transformers.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING),
    ):
        if config_class in known:
            auto.register(shrunk, shrunk_class(known[config_class]), exist_ok=True)
