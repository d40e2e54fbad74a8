"""Load a model's config and weights with transformers, and check that every entry of the checkpoint is used or known to be unused.

:mod:`ticketlab.backbone.loading` builds on it and is what other packages call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ticketlab.backbone import model_config, model_files
from ticketlab.backbone.adapters import SHRUNK, adapter_of, has_adapter
from ticketlab.backbone.classifier_head import is_head
from ticketlab.backbone.shrunk_models import register
from ticketlab.backbone.transformers_messages import translate_errors
from ticketlab.core.errors import TicketlabError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab import integrity

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

Warn = Callable[[str], None]
"""Called with each reason why results of a loaded model may be misleading."""
CLASSIFIER = "AutoModelForSequenceClassification"
OTHER_HEADS = re.compile(
    r"(^|\.)(cls|lm_head|pooler|vocab_\w+|\w*predictions?|mask_predictions|position_ids|attn\.(masked_)?bias|\w*inv_freq)\b"
)
"""Additional weights that a classifier's checkpoint may have: heads of the encoder's pre-training, and constants."""


def load_config(name: str, source: str) -> PretrainedConfig:
    """Load the config of a model that :func:`resolve_model` resolved to ``source``. Afterwards transformers can load it, also if shrunk.

    :raises UsageError: it cannot be loaded, or has invalid values.
    """
    from transformers import AutoConfig, PretrainedConfig

    if Path(source).is_dir():
        table = model_config.read_json(name, Path(source) / model_config.FILE)
    else:
        with translate_errors(name):
            table = PretrainedConfig.get_config_dict(source)[0]
    model_config.check(name, table)
    model_config.custom_code(name, table)
    with translate_errors(name):
        if table["model_type"].startswith(SHRUNK):
            register(table["model_type"].removeprefix(SHRUNK))
        config: PretrainedConfig = AutoConfig.from_pretrained(source, trust_remote_code=False)
    return config


def known_config(name: str, source: str) -> PretrainedConfig:
    """Load the config of a model whose family has an adapter. Raises as :func:`load_config`, and for all other families."""
    config = load_config(name, source)
    try:
        adapter_of(config.model_type)
    except UsageError as problem:
        raise UsageError(f"{name}: {problem}; `ticketlab evaluate` and `ticketlab attack` take a classifier of any family") from None
    return config


def load_weights(
    name: str, source: str, warn: Warn, kind: str = CLASSIFIER, **settings: Any
) -> tuple[PreTrainedModel, list[str], list[str]]:
    """Load a model with the transformers class ``kind``.

    Returns the model, the names of weights that are missing in the checkpoint, and the names of unused ones that belong to no known head.
    """
    import transformers

    config = load_config(name, source)
    custom_code = model_config.custom_code(name, config.to_dict())
    if custom_code:
        warn(custom_code)
    if has_adapter(config.model_type):
        fixed = adapter_of(config.model_type).config_values
        settings |= {name: value for name, value in fixed.items() if hasattr(config, name)}
    integrity.check(Path(source))
    if Path(source).is_dir():
        model_files.check_weights(name, Path(source))
    with translate_errors(name):
        model, found = getattr(transformers, kind).from_pretrained(
            source,
            dtype=torch.float32,
            use_safetensors=True,
            output_loading_info=True,
            trust_remote_code=False,
            ignore_mismatched_sizes=True,  # refused below with a clearer message
            **settings,
        )
    _check_shapes(name, source, model, found["mismatched_keys"])
    _zero_biases(model, found["missing_keys"])
    unexpected = sorted(found["unexpected_keys"])
    if has_adapter(config.model_type):
        adapter = adapter_of(config.model_type)
        dropped = [key for key in unexpected if adapter.layer_of(key) is not None and not OTHER_HEADS.search(key)]
        if dropped:
            raise UsageError(f"{name}: its config describes a smaller model than its weights; `{dropped[0]}` and others would not be used")
    broken = next((key for key, value in model.state_dict().items() if not bool(torch.isfinite(value).all())), None)
    if broken:
        raise TicketlabError(f"{name}: the weights in `{broken}` are not all finite numbers; its training must have failed")
    return model.eval(), sorted(found["missing_keys"]), [key for key in unexpected if not OTHER_HEADS.search(key)]


def _zero_biases(model: PreTrainedModel, missing: Collection[str]) -> None:
    """Set missing biases to 0, as families initialise them. transformers leaves those of some heads (ERNIE's) as memory happens to be."""
    for key, parameter in model.named_parameters():
        if key in missing and key.endswith(".bias") and parameter.ndim == 1:
            parameter.data.zero_()


def check_missing(name: str, missing: Sequence[str]) -> None:
    """Refuse a checkpoint with missing weights, which transformers has initialised randomly.

    :raises UsageError: weights are missing.
    """
    if missing:
        weights_are, more = ("weight is", "") if len(missing) == 1 else ("weights are", ", ...")
        raise UsageError(f"{name}: the checkpoint is incomplete: {len(missing)} {weights_are} missing (`{missing[0]}`{more})")


def _check_shapes(name: str, source: str, model: PreTrainedModel, mismatched: Sequence[Any]) -> None:
    """Refuse entries whose shapes differ from the model's, which transformers has initialised randomly.

    Some versions of transformers list them with their shapes.
    """
    for key in sorted(entry if isinstance(entry, str) else entry[0] for entry in mismatched):
        stored = model_files.shape_of(Path(source), key)
        has = f"has the shape {_shape(stored)}" if stored else "has another shape"
        labels = f", with {counted(len(model.config.id2label), 'label')} in `id2label`" if is_head(model, key) else ""
        expected = _shape(model.state_dict()[key].shape)
        raise UsageError(f"{name}: `{key}` {has} in the checkpoint, but {expected} according to config.json{labels}")


def _shape(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes)) or "a single number"
