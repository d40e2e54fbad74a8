"""Recipes of textattack by name, with local resources (Morris et al., 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from attrs import frozen

from ticketlab.attacks import known_textattack_recipes
from ticketlab.attacks.base import Attack
from ticketlab.attacks.components.edit_distance import few_edits
from ticketlab.core.errors import ResourceError, UsageError
from ticketlab.core.settings import setting
from ticketlab.resources import settings

if TYPE_CHECKING:
    from ticketlab.inference.victim import Victim
    from ticketlab.resources.resources import Resources


def _class_name(name: Any) -> Any:
    return known_textattack_recipes.find(name).name if isinstance(name, str) else name


@frozen
class TextAttackRecipe(Attack):
    """Runs a recipe class of textattack, with the resources named here in place of those that it would download.

    ``textattack:pruthi`` is the attack with ``recipe = "Pruthi2019"``. Supported: BAEGarg2019, BERTAttackLi2020, CLARE2020,
    DeepWordBugGao2018, IGAWang2019, InputReductionFeng2018, LEAP2023, PWWSRen2019, Pruthi2019, TextBuggerLi2018 and TextFoolerJin2019. The
    others need something that has no substitute, and are refused with a message that names it. The thresholds are the recipe's own, and
    were chosen for its original resources. InputReductionFeng2018 shortens a text as long as the label stays the same: every attack
    succeeds, so its success rate is meaningless.
    """

    name: ClassVar[str] = "textattack"
    summary: ClassVar[str] = "a recipe of textattack by name, with local resources"
    paper: ClassVar[str] = (
        "Morris et al., 2020, TextAttack: A Framework for Adversarial Attacks, Data Augmentation, and Adversarial Training in NLP"
    )
    languages: ClassVar[str] = "English, like the recipes' stop words and most resources; recipes that edit characters insert a to z"
    variant: ClassVar[str] = "recipe"
    required_resources: ClassVar[tuple[str, ...]] = ("word_vectors", "encoder", "mlm", "tagger", "wordnet")

    recipe: str | None = setting(
        None,
        converter=_class_name,
        help="a recipe class of textattack, such as Pruthi2019, or its name on textattack's command line, such as pruthi",
    )
    word_vectors: str | None = settings.word_vectors()
    encoder: str | None = settings.encoder()
    mlm: str | None = settings.mlm()
    tagger: str = settings.tagger()
    wordnet: str | None = settings.wordnet()

    def resource_names(self) -> tuple[str, ...]:
        """Return the names of the resources that the recipe needs; all if no recipe is set."""
        return self._known().required_resources if self.recipe is not None else self.required_resources

    def about(self) -> dict[str, str]:
        """Return the recipe's paper and its thresholds, or why it is refused."""
        if self.recipe is None:
            return Attack.about(self)
        known = self._known()
        if known.unavailable:
            return {"refused": self._refusal(known)}
        return {"paper": known.paper, "languages": self.languages, "thresholds": known.thresholds}

    def _checked(self, engine: Sequence[str]) -> Resources:
        """Check the resources that the recipe needs.

        :raises UsageError: no recipe is named.
        :raises ResourceError: it needs something that is missing or has no substitute.
        """
        known = self._known()
        if known.unavailable:
            raise ResourceError(self._refusal(known))
        return Attack._checked(self, engine)

    def warm(self, resources: Resources, texts: Sequence[str]) -> None:
        """Find the neighbours of all words, if the recipe uses them; see :meth:`Attack.warm`."""
        from ticketlab.attacks.components.word_swaps import fetch_neighbours

        if self._known().neighbours:
            fetch_neighbours(resources.load_word_vectors(), texts, self._known().neighbours)

    def build(self, victim: Victim, resources: Resources) -> Any:
        """Build the recipe with substitutes for its downloads and with our query budget."""
        from textattack import attack_recipes

        from ticketlab.attacks.components.offline_substitutes import OfflineSubstitutes
        from ticketlab.resources.textattack_import import with_names

        recipe = getattr(attack_recipes, self._known().name)
        goal = self.goal(victim)
        names = OfflineSubstitutes(resources, victim.device).by_name(self.resource_names())
        names |= {"UntargetedClassification": lambda *_, **__: goal, "LevenshteinEditDistance": few_edits}
        built = with_names(recipe.build, names)(victim)
        built.goal_function.query_budget = goal.query_budget
        built.goal_function.batch_size = 1 << 20  # the victim makes its own batches
        return built

    @staticmethod
    def _refusal(known: known_textattack_recipes.KnownRecipe) -> str:
        return f"textattack:{known.name} needs {known.unavailable}, for which there is no substitute here: choose another attack"

    def _known(self) -> known_textattack_recipes.KnownRecipe:
        if self.recipe is None:
            raise UsageError(
                "which recipe of textattack? Write textattack:NAME, such as textattack:pruthi (`ticketlab show attack textattack`)"
            )
        return known_textattack_recipes.find(self.recipe)
