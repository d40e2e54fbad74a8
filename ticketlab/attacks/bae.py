"""BAE-R: masks words and replaces them by a masked language model's predictions (Garg and Ramakrishnan, 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.core.settings import setting
from ticketlab.resources.settings import resource_setting
from ticketlab.resources.stop_words import english_stop_words

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


@frozen
class BAE(Attack):
    """Ranks words by how much deleting them lowers the victim's confidence, then masks one after another and fills in predictions.

    This is the paper's replacement mode (R). Its authors skip predictions that continue a word; textattack, whose recipe this is, treats
    them as words, and so do we unless ``whole_words``. The model's special tokens, which textattack may write into a text, are never
    candidates.
    """

    name: ClassVar[str] = "bae"
    summary: ClassVar[str] = "replace important words by predictions of a masked language model that does not see them"
    paper: ClassVar[str] = "Garg and Ramakrishnan, 2020, BAE: BERT-based Adversarial Examples for Text Classification"
    languages: ClassVar[str] = (
        "English; other languages with their own masked language model and sentence encoder and no tagger, but stop words stay English"
    )
    required_resources: ClassVar[tuple[str, ...]] = ("mlm", "encoder", "tagger")

    candidates: int = setting(50, at_least=1, at_most=1000, unit="words", help="number of predictions tried for each word (K)")
    min_confidence: float = setting(0.0, at_least=0, at_most=1, help="minimum probability of a prediction; 0 accepts all")
    whole_words: bool = setting(False, help="skip predictions that continue a word, as the paper does")
    min_similarity: float = setting(
        0.936338023,
        at_least=-1,
        at_most=1,
        help="similarity threshold: minimum cosine similarity of the original and the changed text",
    )
    window: int | None = setting(
        15, at_least=1, help="compare only this many words around the change; shorter texts are accepted", unit="words"
    )
    mlm: str | None = resource_setting("mlm")
    encoder: str | None = resource_setting("encoder")
    tagger: str = resource_setting("tagger")

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Build the attack as textattack's recipe does, with our resources."""
        import textattack
        from textattack.constraints.pre_transformation import RepeatModification, StopwordModification
        from textattack.search_methods import GreedyWordSwapWIR

        from ticketlab.attacks.components.constraints import same_part_of_speech, similar_sentence
        from ticketlab.attacks.components.masked_swaps import swap_by_masking

        swap = swap_by_masking(
            resources.load_mlm(victim.device),
            candidates=self.candidates,
            min_confidence=self.min_confidence,
            whole_words=self.whole_words,
        )
        constraints = [RepeatModification(), StopwordModification(stopwords=english_stop_words())]
        if resources.tagger != "none":
            constraints.append(same_part_of_speech(resources.load_tagger(), allow_verb_noun_swap=True))
        similarity = similar_sentence(
            resources.load_encoder(victim.device),
            threshold=self.min_similarity,
            metric="cosine",
            window=self.window,
            skip_short=self.window is not None,
        )
        return textattack.Attack(self.goal(victim), [*constraints, similarity], swap, GreedyWordSwapWIR(wir_method="delete"))
