"""BAE-R: words masked, and replaced by what a masked language model puts there (Garg and Ramakrishnan, 2020)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.core.settings import setting
from ticketlab.resources import settings, stop_words

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


@frozen
class BAE(Attack):
    """Ranks words by what deleting them does to the victim, then masks one after the other and lets a masked language model fill it in.

    This is the paper's mode of replacing (R). Its authors leave out guesses that are pieces of words; textattack, whose recipe this is,
    takes them as words, and so do we unless ``whole_words``. Special tokens of the model, which textattack may write into a text, are
    never candidates.
    """

    name: ClassVar[str] = "bae"
    summary: ClassVar[str] = "replace important words by guesses of a masked language model that does not see them"
    paper: ClassVar[str] = "Garg and Ramakrishnan, 2020, BAE: BERT-based Adversarial Examples for Text Classification"
    languages: ClassVar[str] = (
        "English; with another masked language model and sentence encoder and `tagger` none their language, but stop words are English"
    )
    needs: ClassVar[tuple[str, ...]] = ("mlm", "encoder", "tagger")

    candidates: int = setting(50, at_least=1, at_most=1000, unit="words", help="guesses that are tried for a word (K)")
    min_confidence: float = setting(0.0, at_least=0, at_most=1, help="least probability of a guess; 0 takes all")
    whole_words: bool = setting(False, help="leave out guesses that are pieces of words, as the paper does")
    min_similarity: float = setting(
        0.936338023,
        at_least=-1,
        at_most=1,
        help="least cosine similarity of the original text and the changed one, by the sentence encoder",
    )
    window: int | None = setting(
        15, at_least=1, help="the similarity looks at this many words around the change; shorter texts pass", unit="words"
    )
    mlm: str | None = settings.mlm()
    encoder: str | None = settings.encoder()
    tagger: str = settings.tagger()

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Compose the attack as textattack's recipe does, on our resources."""
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
        constraints = [RepeatModification(), StopwordModification(stopwords=stop_words.english())]
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
