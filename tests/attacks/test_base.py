from __future__ import annotations

from typing import ClassVar

import pytest
from attrs import frozen

from ticketlab.attacks.base import Attack
from ticketlab.resources.resources import RESOURCES, Resources
from ticketlab.resources.settings import DECLARATIONS, resource_setting


def test_a_required_resource_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match=r"^Misspelt.required_resources must be a tuple of some of word_vectors, .*\('vectors',\)$"):

        class Misspelt(Attack):
            required_resources: ClassVar[tuple[str, ...]] = ("vectors",)


def test_a_required_resource_needs_its_setting():
    with pytest.raises(TypeError, match=r"^NoSetting requires `mlm`, and has no such setting: `mlm = resource_setting\('mlm'\)`$"):

        @frozen
        class NoSetting(Attack):
            required_resources: ClassVar[tuple[str, ...]] = ("mlm",)


def test_the_settings_of_resources_are_passed_on():
    @frozen
    class Own(Attack):
        name: ClassVar[str] = "own"
        summary: ClassVar[str] = "needs all resources"
        required_resources: ClassVar[tuple[str, ...]] = RESOURCES

        word_vectors: str | None = resource_setting("word_vectors")
        encoder: str | None = resource_setting("encoder")
        mlm: str | None = resource_setting("mlm")
        tagger: str = resource_setting("tagger")
        wordnet: str | None = resource_setting("wordnet")

    @frozen
    class Derived(Own):
        name: ClassVar[str] = "derived"

    assert Own().resources() == Resources()
    assert Derived(mlm="here", tagger="none").resources() == Resources(mlm="here", tagger="none")
    assert set(DECLARATIONS) == set(RESOURCES)


def test_there_is_no_setting_for_an_unknown_resource():
    with pytest.raises(TypeError, match=r"^resource_setting: there is no resource `word_vector`; did you mean `word_vectors`\?$"):
        resource_setting("word_vector")
