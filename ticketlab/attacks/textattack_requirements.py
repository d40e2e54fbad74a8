"""What textattack's own recipes need, and which cannot run here: known without importing textattack, which takes ten seconds."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from attrs import frozen

from ticketlab.core.errors import SettingError

MOST_NEAR = 3
"""Names that a message offers in place of a wrong one."""


@frozen
class KnownRecipe:
    """One recipe class of textattack 0.3.11."""

    name: str
    """The class."""
    short: str = ""
    """What textattack's command line calls it."""
    paper: str = ""
    needs: tuple[str, ...] = ()
    thresholds: str = ""
    """Its numbers, in words."""
    neighbours: int = 0
    """How many of a word it asks the word vectors for."""
    lacks: str = ""
    """What it takes that has no substitute here; it is refused then."""


_USE = "of texts, by the sentence encoder"
_GRADIENTS = "gradients of the victim"
_TEXT = "a victim that answers with a text"
_LANGUAGE = "resources of another language"

RECIPES = {
    recipe.name: recipe
    for recipe in (
        KnownRecipe("A2TYoo2021", "a2t", lacks=_GRADIENTS),
        KnownRecipe(
            "BAEGarg2019",
            "bae",
            "Garg and Ramakrishnan, 2020, BAE: BERT-based Adversarial Examples for Text Classification",
            ("mlm", "encoder", "tagger"),
            f"50 guesses for a word, of probability 0.0 or more; cosine {_USE}, at least 0.936338023 in windows of 15 words",
        ),
        KnownRecipe(
            "BERTAttackLi2020",
            "bert-attack",
            "Li et al., 2020, BERT-ATTACK: Adversarial Attack Against BERT Using BERT",
            ("mlm", "encoder"),
            f"8 guesses for a word; at most 0.4 of the words; cosine {_USE}, at least 0.2",
        ),
        KnownRecipe(
            "BadCharacters2021", "bad-characters", lacks="a goal to choose, and a list of homoglyphs that textattack's package leaves out"
        ),
        KnownRecipe("CheckList2020", "checklist", lacks="a recogniser of named entities (flair's)"),
        KnownRecipe("ChineseRecipe", lacks=_LANGUAGE),
        KnownRecipe(
            "CLARE2020",
            "clare",
            "Li et al., 2021, Contextualized Perturbation for Textual Adversarial Attack",
            ("mlm", "encoder", "tagger"),
            "50 guesses each, of probability 0.0005 for a word, 0.0 for an insertion, 0.005 for two merged words; "
            f"cosine {_USE}, at least 0.7 in windows of 15 words",
        ),
        KnownRecipe(
            "DeepWordBugGao2018",
            "deepwordbug",
            "Gao et al., 2018, Black-box Generation of Adversarial Text Sequences to Evade Deep Learning Classifiers",
            thresholds="at most 30 edits of letters",
        ),
        KnownRecipe("FasterGeneticAlgorithmJia2019", "faster-alzantot", lacks="the language model of Learning to Write"),
        KnownRecipe("FrenchRecipe", lacks=_LANGUAGE),
        KnownRecipe("GeneticAlgorithmAlzantot2018", "alzantot", lacks="Google's language model of one billion words, and TensorFlow"),
        KnownRecipe("HotFlipEbrahimi2017", "hotflip", lacks=_GRADIENTS),
        KnownRecipe(
            "IGAWang2019",
            "iga",
            "Wang et al., 2019, Natural Language Adversarial Attack and Defense in Word Level",
            ("word_vectors",),
            "50 neighbours of a word, at a squared distance of at most 0.5; at most 0.2 of the words; population 60, 20 iterations, 5 "
            "replacements at a place",
            neighbours=50,
        ),
        KnownRecipe(
            "InputReductionFeng2018",
            "input-reduction",
            "Feng et al., 2018, Pathologies of Neural Models Make Interpretations Difficult",
        ),
        KnownRecipe("Kuleshov2017", "kuleshov", lacks="the perplexity of GPT-2"),
        KnownRecipe(
            "LEAP2023",
            "leap",
            "Xiao et al., 2023, LEAP: Efficient and Automated Test Method for NLP Software",
            ("wordnet",),
            "at most 0.16 of the words; population 60, 20 iterations, 20 retries of a turn",
        ),
        KnownRecipe("MorpheusTan2020", "morpheus", lacks=_TEXT),
        KnownRecipe("PSOZang2020", "pso", lacks="the sememes of HowNet"),
        KnownRecipe(
            "PWWSRen2019",
            "pwws",
            "Ren et al., 2019, Generating Natural Language Adversarial Examples through Probability Weighted Word Saliency",
            ("wordnet",),
        ),
        KnownRecipe(
            "Pruthi2019",
            "pruthi",
            "Pruthi et al., 2019, Combating Adversarial Misspellings with Robust Word Recognition",
            thresholds="1 word of 4 letters or more",
        ),
        KnownRecipe("Seq2SickCheng2018BlackBox", "seq2sick", lacks=_TEXT),
        KnownRecipe("SpanishRecipe", lacks=_LANGUAGE),
        KnownRecipe(
            "TextBuggerLi2018",
            "textbugger",
            "Li et al., 2019, TextBugger: Generating Adversarial Text Against Real-world Applications",
            ("word_vectors", "encoder"),
            f"5 neighbours of a word; angular similarity {_USE}, at least 0.8",
            neighbours=5,
        ),
        KnownRecipe(
            "TextFoolerJin2019",
            "textfooler",
            "Jin et al., 2020, Is BERT Really Robust? A Strong Baseline for Natural Language Attack",
            ("word_vectors", "encoder", "tagger"),
            f"50 neighbours of a word, of cosine 0.5 or more; angular similarity {_USE}, at least 0.840845057 in windows of 15 words",
            neighbours=50,
        ),
    )
}
"""By class."""


def find(name: str) -> KnownRecipe:
    """Return the recipe of a class name, or of a name of textattack's command line.

    :raises SettingError: there is none.
    """
    by_name = RECIPES | {recipe.short: recipe for recipe in RECIPES.values() if recipe.short}
    if name not in by_name:
        raise SettingError(
            f"textattack has no recipe {name!r}{_near(name, by_name)} (`ticketlab show attack textattack` lists those that run)"
        )
    return by_name[name]


def _near(name: str, by_name: Mapping[str, KnownRecipe]) -> str:
    """Return the names of the recipes nearest to ``name`` as a question; nothing if none is near."""
    folded = {known.casefold(): known for known in by_name}
    nearest: dict[str, str] = {}
    for near in difflib.get_close_matches(name.casefold(), folded, n=len(folded), cutoff=0.5):
        nearest.setdefault(by_name[folded[near]].name, f"`{folded[near]}`")  # of a recipe's two names one will do
    return f"; did you mean {' or '.join(list(nearest.values())[:MOST_NEAR])}?" if nearest else ""
