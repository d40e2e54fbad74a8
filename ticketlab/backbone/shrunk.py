"""The classes of shrunk models: any transformers encoder that cuts its own heads and neurons as its config says."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ticketlab.backbone.adapters import SHRUNK, adapter_of
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.cutting import cut
from ticketlab.core.errors import UsageError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel


class Shrunk:
    """The part that all shrunk models share: built at full size, cut before any weight is loaded."""

    full_class: ClassVar[type]

    def __init__(self, config: PretrainedConfig, *inputs: Any, **named: Any) -> None:
        super().__init__(config, *inputs, **named)  # type: ignore[call-arg]
        cut(Backbone(self), kept_of(config))


@functools.cache
def shrunk_class(model_class: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """Return the shrunk kind of a model class; a shrunk kind is its own."""
    if issubclass(model_class, Shrunk):
        return model_class
    facts = {"full_class": model_class, "config_class": shrunk_config_class(model_class.config_class), "__module__": __name__}
    return type(f"Shrunk{model_class.__name__}", (Shrunk, model_class), facts)


@functools.cache
def shrunk_config_class(config_class: type[PretrainedConfig]) -> type[PretrainedConfig]:
    """Return the config class of shrunk models of a family.

    Its ``model_type`` is one that plain transformers does not know, so that it refuses the folder. An instance has two fields more,
    ``kept_heads`` and ``kept_neurons``; see :func:`packed`. The family's own fields keep the original sizes.
    """
    if config_class.model_type.startswith(SHRUNK):
        return config_class
    facts = {"model_type": f"{SHRUNK}{config_class.model_type}", "full_class": config_class, "__module__": __name__}
    return type(f"Shrunk{config_class.__name__}", (config_class,), facts)


def packed(mask: Tensor) -> str:
    """Write a boolean mask as hexadecimal digits: the first unit is the highest bit of the first byte, the last byte filled with zeros."""
    return np.packbits(mask.cpu().numpy()).tobytes().hex()


def unpacked(digits: str, count: int) -> Tensor:
    """Read :func:`packed`'s mask of ``count`` units.

    :raises ValueError: these are no hexadecimal digits, or not of ``count`` units.
    """
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(digits), dtype=np.uint8))
    if len(bits) != -(-count // 8) * 8 or bits[count:].any():
        raise ValueError(f"`{digits[:16]}` is no mask of {count} units")
    return torch.from_numpy(bits[:count].astype(bool))  # the one constructor that `torch.device("meta")` leaves on the CPU


def kept_of(config: PretrainedConfig) -> dict[str, Tensor]:
    """Return the masks that the config of a shrunk model holds, relative to the original size.

    :raises UsageError: they are missing or damaged.
    """
    adapter = adapter_of(config.model_type)
    masks: dict[str, Tensor] = {}
    for group, size in (("heads", adapter.heads), ("neurons", adapter.neurons)):
        try:
            layers = getattr(config, f"kept_{group}")
            if len(layers) != config.num_hidden_layers:
                raise ValueError(f"{len(layers)} masks for {config.num_hidden_layers} layers")
            masks |= {f"{group}/{index}": unpacked(digits, int(getattr(config, size))) for index, digits in enumerate(layers)}
        except (AttributeError, TypeError, ValueError) as problem:
            raise UsageError(f"`kept_{group}` in the shrunk model's config.json is damaged ({problem}); export the model again") from None
    return masks


def register(model_type: str) -> None:
    """Teach transformers' Auto classes the shrunk models of a family, by its own ``model_type``; again changes nothing.

    A family that transformers does not know, or has no such model of, is left out.
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
