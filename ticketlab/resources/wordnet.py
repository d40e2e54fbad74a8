"""WordNet from NLTK's corpus or Debian's /usr/share/wordnet, read with NLTK's reader and without downloads."""

from __future__ import annotations

import functools
import importlib
import io
import threading
import warnings
from typing import Any

from ticketlab.core import packages
from ticketlab.core.errors import ResourceError
from ticketlab.resources import nltk_data, textattack_import

DEBIAN = "/usr/share/wordnet"
HOW_TO_GET = (
    "apt-get install wordnet-base (without root: apt-get download wordnet-base, then dpkg -x FILE FOLDER), or python -m nltk.downloader "
    "wordnet; for another folder, `--set attack.attacks.ATTACK.wordnet=FOLDER`, or NLTK_DATA=FOLDER in the environment"
)

_CORPUS = "corpora/wordnet"
_FIRST = "data.noun"
_PARTS_OF_SPEECH = ("adj", "adv", "noun", "verb")
_FILES = tuple(f"{kind}.{part}" for kind in ("data", "index") for part in _PARTS_OF_SPEECH) + tuple(
    f"{part}.exc" for part in _PARTS_OF_SPEECH
)
_LEXICOGRAPHERS = {
    "adj": "all pert",
    "adv": "all",
    "noun": "Tops act animal artifact attribute body cognition communication event feeling food group location motive object person "
    "phenomenon plant possession process quantity relation shape state substance time",
    "verb": "body change cognition communication competition consumption contact creation emotion motion perception possession social "
    "stative weather",
}
_NUMBERS = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}


def find(folder: str | None) -> str | None:
    """Return the path of WordNet: in ``folder`` or, if that is None, in Debian's or on NLTK's data path; None if it is missing."""
    return nltk_data.find(_CORPUS, folder, among=(DEBIAN,), file=_FIRST) if packages.folder("nltk") else None


def why_missing(folder: str) -> str:
    """Return why WordNet was not found in ``folder``."""
    if not packages.folder("nltk"):
        return f"nltk, which reads it, is not installed: {textattack_import.HOW_TO_GET}"
    return nltk_data.why_missing(_CORPUS, folder, among=(DEBIAN,), file=_FIRST)


def identity(place: str) -> str:
    """Return the digest of the files that determine the synonyms."""
    return nltk_data.digest(place, _FILES)


@functools.lru_cache(maxsize=1)
def load(place: str) -> WordNet:
    """Read all of WordNet, once per process.

    :raises ResourceError: a file is missing or damaged.
    """
    try:
        return WordNet(_reader(place))
    except Exception as problem:  # NLTK's reader raises arbitrary errors for damaged lines
        reason = " ".join(f"{problem}".split()) or type(problem).__name__
        raise ResourceError(f"WordNet {place}: does not load ({reason[:200]})") from problem


class WordNet:
    """Synonyms of English words."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        """NLTK's ``WordNetCorpusReader``."""
        self.synonyms = functools.lru_cache(maxsize=2**14)(self._synonyms)
        """Returns the other words of all synsets of a word or its base form, sorted and without phrases."""
        self._lock = threading.Lock()

    def _synonyms(self, word: str) -> tuple[str, ...]:
        """Return the other words of all synsets of a word or its base form, sorted and without phrases."""
        with self._lock:  # the reader seeks in shared files
            names = {name for synset in self.reader.synsets(word) for name in synset.lemma_names()}
        return tuple(sorted(name for name in names if name != word and "_" not in name))


def _reader(place: str) -> Any:
    module = importlib.import_module("nltk.corpus.reader.wordnet")
    data = importlib.import_module("nltk.data")

    class Reader(module.WordNetCorpusReader):  # type: ignore[misc,name-defined]
        """NLTK's reader on files that are read into memory, from any folder, with or without ``lexnames``, which Debian omits."""

        def open(self, file: str) -> _Lines:
            return _Lines(_lexnames() if file == "lexnames" else nltk_data.read(place, file))

        def map_wn(self, version: str = "wordnet") -> None:
            """Skip the comparison with another WordNet on NLTK's data path, which is only for other languages."""

    class Nowhere(data.PathPointer):  # type: ignore[misc,name-defined]
        """A dummy: NLTK opens only folders on its data path, and nothing is opened through this."""

        open = join = file_size = None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that only English is available
        reader = Reader(Nowhere(), None)
    for part in "arnv":
        reader._data_file(part)
    return reader


class _Lines(io.BytesIO):
    """A file in memory that yields its lines as text; positions are in bytes, as in WordNet's indices."""

    def readline(self, size: int | None = -1, /) -> Any:
        return super().readline(size).decode()

    def __next__(self) -> Any:
        return super().__next__().decode()


def _lexnames() -> bytes:
    """Return the file of lexicographer files: their number, name and part of speech. ``adj.ppl`` is the last one."""
    names = [(part, f"{part}.{name}") for part, group in _LEXICOGRAPHERS.items() for name in group.split()]
    return "".join(f"{number:02d}\t{name}\t{_NUMBERS[part]}\n" for number, (part, name) in enumerate([*names, ("adj", "adj.ppl")])).encode()
