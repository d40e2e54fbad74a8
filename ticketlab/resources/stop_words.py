"""Stop words, which attacks do not change: the closed word classes of English. textattack would download its list."""

from __future__ import annotations

import functools
from pathlib import Path

ENGLISH = Path(__file__).with_suffix(".txt")
"""The short list, one word per line."""

_ALSO_IN_TEXTFOOLER = """
    across along alongside amid among amongst around aside atop behind beneath beside besides beyond despite except inside like minus near
    onto outside past per plus since throughout thru till toward towards underneath unless unlike upon versus via within without
    afterwards beforehand formerly hence henceforth hereafter hereby herein hereupon however indeed instead latterly likewise meanwhile
    moreover namely nevertheless nonetheless otherwise somehow still thence thereafter thereby therefore therein thereupon thus
    whence whenceforth whereafter whereas whereby wherein whereupon wherever whenever whether whither although though lest
    another anybody anyone anything anyhow anyway anywhere either else elsewhere enough everybody everyone everything everywhere every
    former latter least less many mine much neither never nobody none noone nothing nowhere oneself several
    somebody someone something sometime sometimes somewhere whatever whichever whoever whole whomever
    almost already also always ever even mostly often perhaps please quite rather together yet
    cannot used one two three four five six seven eight nine ten hundred first
"""


@functools.cache
def english_stop_words() -> frozenset[str]:
    """Return the English stop words that attacks leave unchanged: pronouns, determiners, auxiliaries, prepositions, conjunctions."""
    return frozenset(ENGLISH.read_text(encoding="utf-8").split())


@functools.cache
def textfooler() -> frozenset[str]:
    """Return TextFooler's longer list, which adds conjunctive adverbs, indefinite pronouns and numerals."""
    return english_stop_words() | frozenset(_ALSO_IN_TEXTFOOLER.split())
