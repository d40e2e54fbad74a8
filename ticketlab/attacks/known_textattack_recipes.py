"""The resources and thresholds of textattack's own recipes, without importing textattack, which takes ten seconds.

Where an attack of ours has the same thresholds as its recipe in textattack, they are read from the attack's defaults.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from attrs import frozen

from ticketlab.attacks.bae import BAE
from ticketlab.attacks.bert_attack import BertAttack
from ticketlab.attacks.deepwordbug import DeepWordBug
from ticketlab.attacks.pwws import PWWS
from ticketlab.attacks.textbugger import TextBugger
from ticketlab.attacks.textfooler import TextFooler
from ticketlab.core.errors import SettingError

MAX_SUGGESTIONS = 3
"""The number of names that a message suggests for an unknown one."""


@frozen
class KnownRecipe:
    """A recipe class of textattack 0.3.11."""

    name: str
    """The name of the class."""
    short: str = ""
    """The name on textattack's command line."""
    paper: str = ""
    required_resources: tuple[str, ...] = ()
    thresholds: str = ""
    """Its thresholds, in words."""
    neighbours: int = 0
    """The number of neighbours of a word that it takes from the word vectors."""
    unavailable: str = ""
    """What it needs that has no substitute here. The recipe is then refused."""


_BAE, _BERT_ATTACK, _DEEPWORDBUG, _TEXTBUGGER, _TEXTFOOLER = BAE(), BertAttack(), DeepWordBug(), TextBugger(), TextFooler()
_USE = "of texts, by the sentence encoder"
_GRADIENTS = "gradients of the victim"
_TEXT = "a victim that generates text"
_LANGUAGE = "resources of another language"

RECIPES = {
    recipe.name: recipe
    for recipe in (
        KnownRecipe("A2TYoo2021", "a2t", unavailable=_GRADIENTS),
        KnownRecipe(
            "BAEGarg2019",
            "bae",
            BAE.paper,
            BAE.required_resources,
            f"{_BAE.candidates} predictions for a word, of probability {_BAE.min_confidence} or more; cosine {_USE}, at least "
            f"{_BAE.min_similarity} in windows of {_BAE.window} words",
        ),
        KnownRecipe(
            "BERTAttackLi2020",
            "bert-attack",
            BertAttack.paper,
            BertAttack.required_resources,
            f"8 predictions for a word; at most {_BERT_ATTACK.max_words_perturbed} of the words; cosine {_USE}, at least "
            f"{_BERT_ATTACK.min_similarity}",
        ),
        KnownRecipe(
            "BadCharacters2021", "bad-characters", unavailable="a goal to choose, and a list of homoglyphs that textattack's package omits"
        ),
        KnownRecipe("CheckList2020", "checklist", unavailable="a recogniser of named entities (flair's)"),
        KnownRecipe("ChineseRecipe", unavailable=_LANGUAGE),
        KnownRecipe(
            "CLARE2020",
            "clare",
            "Li et al., 2021, Contextualized Perturbation for Textual Adversarial Attack",
            ("mlm", "encoder", "tagger"),
            "50 predictions each, of probability at least 0.0005 for a word, 0.0 for an insertion, 0.005 for two merged words; "
            f"cosine {_USE}, at least 0.7 in windows of 15 words",
        ),
        KnownRecipe(
            "DeepWordBugGao2018",
            "deepwordbug",
            DeepWordBug.paper,
            thresholds=f"at most {_DEEPWORDBUG.max_edit_distance} edits of letters",
        ),
        KnownRecipe("FasterGeneticAlgorithmJia2019", "faster-alzantot", unavailable="the language model of Learning to Write"),
        KnownRecipe("FrenchRecipe", unavailable=_LANGUAGE),
        KnownRecipe("GeneticAlgorithmAlzantot2018", "alzantot", unavailable="Google's language model of one billion words, and TensorFlow"),
        KnownRecipe("HotFlipEbrahimi2017", "hotflip", unavailable=_GRADIENTS),
        KnownRecipe(
            "IGAWang2019",
            "iga",
            "Wang et al., 2019, Natural Language Adversarial Attack and Defense in Word Level",
            ("word_vectors",),
            "50 neighbours of a word, at a squared distance of at most 0.5; at most 0.2 of the words; population 60, 20 iterations, 5 "
            "replacements per position",
            neighbours=50,
        ),
        KnownRecipe(
            "InputReductionFeng2018",
            "input-reduction",
            "Feng et al., 2018, Pathologies of Neural Models Make Interpretations Difficult",
        ),
        KnownRecipe("Kuleshov2017", "kuleshov", unavailable="the perplexity of GPT-2"),
        KnownRecipe(
            "LEAP2023",
            "leap",
            "Xiao et al., 2023, LEAP: Efficient and Automated Test Method for NLP Software",
            ("wordnet",),
            "at most 0.16 of the words; population 60, 20 iterations, 20 retries per turn",
        ),
        KnownRecipe("MorpheusTan2020", "morpheus", unavailable=_TEXT),
        KnownRecipe("PSOZang2020", "pso", unavailable="the sememes of HowNet"),
        KnownRecipe(
            "PWWSRen2019",
            "pwws",
            PWWS.paper,
            PWWS.required_resources,
        ),
        KnownRecipe(
            "Pruthi2019",
            "pruthi",
            "Pruthi et al., 2019, Combating Adversarial Misspellings with Robust Word Recognition",
            thresholds="1 word of 4 letters or more",
        ),
        KnownRecipe("Seq2SickCheng2018BlackBox", "seq2sick", unavailable=_TEXT),
        KnownRecipe("SpanishRecipe", unavailable=_LANGUAGE),
        KnownRecipe(
            "TextBuggerLi2018",
            "textbugger",
            TextBugger.paper,
            TextBugger.required_resources,
            f"{_TEXTBUGGER.neighbours} neighbours of a word; angular similarity {_USE}, at least {_TEXTBUGGER.min_similarity}",
            neighbours=_TEXTBUGGER.neighbours,
        ),
        KnownRecipe(
            "TextFoolerJin2019",
            "textfooler",
            TextFooler.paper,
            TextFooler.required_resources,
            f"{_TEXTFOOLER.neighbours} neighbours of a word, of cosine {_TEXTFOOLER.min_cosine} or more; angular similarity {_USE}, "
            f"at least {_TEXTFOOLER.min_similarity} in windows of {_TEXTFOOLER.window} words",
            neighbours=_TEXTFOOLER.neighbours,
        ),
    )
}
"""All recipes by the name of their class."""


def find(name: str) -> KnownRecipe:
    """Return the recipe with this class name or command-line name.

    :raises SettingError: there is no such recipe.
    """
    by_name = RECIPES | {recipe.short: recipe for recipe in RECIPES.values() if recipe.short}
    if name not in by_name:
        if "." in name:
            raise SettingError(f"textattack has no recipe {name!r}; a class in a module of a plugin is written MODULE:CLASS")
        raise SettingError(
            f"textattack has no recipe {name!r}{_near(name, by_name)} (`ticketlab show attack textattack` lists those that run)"
        )
    return by_name[name]


def _near(name: str, by_name: Mapping[str, KnownRecipe]) -> str:
    """Return a question that suggests similar names; an empty string if there are none."""
    folded = {known.casefold(): known for known in by_name}
    nearest: dict[str, str] = {}
    for near in difflib.get_close_matches(name.casefold(), folded, n=len(folded), cutoff=0.5):
        nearest.setdefault(by_name[folded[near]].name, f"`{folded[near]}`")  # suggest one of a recipe's two names
    return f"; did you mean {' or '.join(list(nearest.values())[:MAX_SUGGESTIONS])}?" if nearest else ""
