"""Any recipe of textattack by its name, on our resources (Morris et al., 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks import textattack_requirements
from ticketlab.attacks.base import Attack
from ticketlab.attacks.components.edit_distance import few_edits
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.core.settings import setting
from ticketlab.resources import settings

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


def _class_name(name: Any) -> Any:
    return textattack_requirements.find(name).name if isinstance(name, str) else name


@frozen
class TextAttackRecipe(Attack):
    """Runs a recipe class of textattack as it is, except that what it would download is replaced by the resources named here.

    ``textattack:pruthi`` is the one with ``recipe = "Pruthi2019"``. These run: BAEGarg2019, BERTAttackLi2020, CLARE2020,
    DeepWordBugGao2018, IGAWang2019, InputReductionFeng2018, LEAP2023, PWWSRen2019, Pruthi2019, TextBuggerLi2018 and TextFoolerJin2019. The
    others need something that has no substitute, and are refused with what it is. The thresholds are those of the recipe, and were chosen
    for its own resources. InputReductionFeng2018 shortens a text while the label stays: all its attacks succeed, so their number says
    nothing.
    """

    name: ClassVar[str] = "textattack"
    summary: ClassVar[str] = "a recipe of textattack by name, on our resources"
    paper: ClassVar[str] = (
        "Morris et al., 2020, TextAttack: A Framework for Adversarial Attacks, Data Augmentation, and Adversarial Training in NLP"
    )
    languages: ClassVar[str] = (
        "English, for which the recipes were made: their stop words are, and most resources; those that edit letters put in a to z"
    )
    variant: ClassVar[str] = "recipe"
    needs: ClassVar[tuple[str, ...]] = ("word_vectors", "encoder", "mlm", "tagger", "wordnet")

    recipe: str | None = setting(
        None, converter=_class_name, help="a class of textattack's recipes, such as Pruthi2019, or its command line's name, such as pruthi"
    )
    word_vectors: str | None = settings.word_vectors()
    encoder: str | None = settings.encoder()
    mlm: str | None = settings.mlm()
    tagger: str = settings.tagger()
    wordnet: str | None = settings.wordnet()

    def needed(self) -> tuple[str, ...]:
        """Return what the recipe needs."""
        return self._known().needs if self.recipe is not None else self.needs

    def about(self) -> dict[str, str]:
        """Return the recipe's paper and its thresholds, or why it is refused."""
        if self.recipe is None:
            return Attack.about(self)
        known = self._known()
        if known.lacks:
            return {"refused": self._refusal(known)}
        return {"paper": known.paper, "languages": self.languages, "thresholds": known.thresholds}

    def _found(self, engine: Sequence[str]) -> Resources:
        """Find what the recipe needs.

        :raises UsageError: no recipe is named.
        :raises ResourceError: it needs something that is missing, or that has no substitute.
        """
        known = self._known()
        if known.lacks:
            raise ResourceError(self._refusal(known))
        return Attack._found(self, engine)

    def warm(self, resources: Resources, texts: Sequence[str]) -> None:
        """Search the neighbours of all words, if the recipe asks for them; see :meth:`Attack.warm`."""
        from ticketlab.attacks.components.word_swaps import fetch_neighbours

        if self._known().neighbours:
            fetch_neighbours(resources.load_word_vectors(), texts, self._known().neighbours)

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Let the recipe build itself, what it would download replaced, within the query budget."""
        from textattack import attack_recipes

        from ticketlab.attacks.components.substitutes import Substitutes
        from ticketlab.resources.textattack_import import with_names

        recipe = getattr(attack_recipes, self._known().name)
        goal = self.goal(victim)
        names = Substitutes(resources, victim.device).of(self.needed())
        names |= {"UntargetedClassification": lambda *_, **__: goal, "LevenshteinEditDistance": few_edits}
        built = with_names(recipe.build, names)(victim)
        built.goal_function.query_budget = goal.query_budget
        built.goal_function.batch_size = 1 << 20  # the victim makes its own batches
        return built

    @staticmethod
    def _refusal(known: textattack_requirements.KnownRecipe) -> str:
        return f"textattack:{known.name} needs {known.lacks}, for which there is no substitute here: choose another attack"

    def _known(self) -> textattack_requirements.KnownRecipe:
        if self.recipe is None:
            raise UsageError(
                "which recipe of textattack? Write textattack:NAME, such as textattack:pruthi (`ticketlab show attack textattack`)"
            )
        return textattack_requirements.find(self.recipe)
