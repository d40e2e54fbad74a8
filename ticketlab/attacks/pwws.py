"""PWWS: replaces words by WordNet synonyms, ordered by saliency and by the effect of the best synonym (Ren et al., 2019)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.resources.settings import resource_setting
from ticketlab.resources.stop_words import english_stop_words

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


@frozen
class PWWS(Attack):
    """Probability weighted word saliency: replaces one word after another by the synonym that lowers the victim's confidence most.

    Words are ordered by their saliency (the softmax over the text of the effect of masking a word) times the effect of their best
    synonym. Like textattack's recipe, it omits the paper's replacement of named entities.
    """

    name: ClassVar[str] = "pwws"
    summary: ClassVar[str] = "replace important words by synonyms from WordNet"
    paper: ClassVar[str] = "Ren et al., 2019, Generating Natural Language Adversarial Examples through Probability Weighted Word Saliency"
    languages: ClassVar[str] = "English"
    required_resources: ClassVar[tuple[str, ...]] = ("wordnet",)

    wordnet: str | None = resource_setting("wordnet")

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Build the attack as textattack's recipe does, with our WordNet."""
        import textattack
        from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
        from textattack.search_methods import GreedyWordSwapWIR

        from ticketlab.attacks.components.word_swaps import swap_synonyms

        constraints = [RepeatModification(), StopwordModification(stopwords=english_stop_words())]
        search = GreedyWordSwapWIR(wir_method="weighted-saliency")
        return textattack.Attack(self.goal(victim), constraints, swap_synonyms(resources.load_wordnet()), search)
