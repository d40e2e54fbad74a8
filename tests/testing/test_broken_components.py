"""Components whose class or settings break the contract fail in the conformance test that is about it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from attrs import frozen
from support.suite_outcomes import failures_of
from torch import Tensor

from ticketlab.plugin import Adversary, AdversaryRun, Batch, LossFunction, Pruner, Search, plain_step, setting
from ticketlab.testing import AdversaryTests


class Plain(Adversary):
    """Plain training, for the components below to break."""

    name: ClassVar[str] = "broken"
    summary: ClassVar[str] = "plain training"

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        return plain_step(loss_function, batch)


class Unfrozen(Plain):
    strength: float = setting(1.0, above=0, help="not used")


@attrs.frozen(eq=False)
class UnlikeItself(Plain):
    strength: float = setting(1.0, above=0, help="not used")


@frozen
class Misspelt(Plain):
    required_output: ClassVar[tuple[str, ...]] = ("hidden_states",)


@frozen
class ConvertsTwice(Plain):
    strength: float = setting(1.0, above=0, help="not used", converter=lambda value: 2 * value)


@frozen
class WithoutBounds(Plain):
    strength: float = setting(1.0, help="not used")


@frozen
class CrashesWithoutBounds(Plain):
    strength: float = setting(1.0, help="the logarithm of this is used")

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        math.log(self.strength)
        return plain_step(loss_function, batch)


@frozen
class DivergesAtItsBound(Plain):
    strength: float = setting(1.0, at_least=0, help="divides the loss")

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        loss = loss_function(batch).loss / self.strength
        loss.backward()
        return loss.detach()


@frozen
class IgnoresItsBound(Plain):
    strength: float = setting(1.0, above=0, help="not used", converter=abs)


@frozen
class SameKey(Plain):
    strength: float = setting(1.0, above=0, help="not used", converter=lambda value: min(value, 1.0))


@frozen
class MattersWithoutIdentity(Plain):
    strength: float = setting(1.0, above=0, identity=False, help="multiplies the loss")

    def backward(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        loss = self.strength * loss_function(batch).loss
        loss.backward()
        return loss.detach()


@frozen
class WithoutHelp(Plain):
    strength: float = setting(1.0, above=0, help=" ")


@frozen
class WithoutSummary(Plain):
    summary: ClassVar[str] = ""


@frozen
class VersionInWords(Plain):
    version: ClassVar[Any] = "2"


FROZEN = "test_an_object_cannot_be_changed_and_equal_ones_have_equal_hashes"


@pytest.mark.parametrize(
    ("component", "test", "message"),
    [
        pytest.param(Unfrozen, "test_the_class_can_be_used", "write @frozen above the class", id="no @frozen"),
        pytest.param(UnlikeItself, FROZEN, "another `strength` is equal", id="no eq"),
        pytest.param(Misspelt, "test_class_attributes_are_not_misspelt", "did you mean `required_outputs`", id="misspelt attribute"),
        pytest.param(ConvertsTwice, "test_settings_survive_a_recipe_file", "`strength` is 8.0, and was 2.0", id="conversion"),
        pytest.param(WithoutBounds, "test_numbers_have_bounds", "`strength` has no bounds", id="no bounds"),
        pytest.param(CrashesWithoutBounds, "test_values_at_the_bounds_can_be_used", "with strength = 0, which its bounds", id="crash"),
        pytest.param(DivergesAtItsBound, "test_values_at_the_bounds_can_be_used", "a loss or a parameter is not finite", id="infinite"),
        pytest.param(IgnoresItsBound, "test_values_outside_the_bounds_are_refused", "`strength` accepts", id="ignored bound"),
        pytest.param(SameKey, "test_settings_are_part_of_the_key", "another value of `strength` gives the same key", id="same key"),
        pytest.param(
            MattersWithoutIdentity,
            "test_settings_without_identity_do_not_change_results",
            "another value of `strength` changes the bits of the trained parameters",
            id="identity",
        ),
        pytest.param(WithoutHelp, "test_every_setting_has_a_help_text", "`strength` has no help", id="no help"),
        pytest.param(WithoutSummary, "test_the_class_can_be_used", "write what the component does in one line", id="no summary"),
        pytest.param(VersionInWords, "test_the_class_can_be_used", "write a whole number from 1", id="version"),
    ],
)
def test_a_breach_is_found(component: type[Adversary], test: str, message: str, tmp_path: Path) -> None:
    failures = failures_of(AdversaryTests, test, tmp_path, component=component)
    assert any(message in failure for failure in failures.values()), "\n".join(failures.values())


def test_a_misspelt_method_is_refused_where_its_class_is_made() -> None:
    with pytest.raises(TypeError, match=r"Broken\.backwards is never called; did you mean `backward`"):

        class Broken(Adversary):
            def backwards(self, loss_function: LossFunction, batch: Batch) -> Tensor:
                return plain_step(loss_function, batch)

    with pytest.raises(TypeError, match=r"BrokenRun\.on_step_begin is never called; did you mean `on_step_start`"):

        class BrokenRun(AdversaryRun):
            def on_step_begin(self, step: int) -> None: ...

    with pytest.raises(TypeError, match=r"BrokenPruner\.attach is never called; did you mean `begin`"):

        class BrokenPruner(Pruner):
            def attach(self, plan: Any) -> Search:
                return Search()
