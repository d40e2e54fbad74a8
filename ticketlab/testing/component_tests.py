"""The conformance tests of every kind of component: the class, its settings and its identity."""

from __future__ import annotations

import contextlib
import difflib
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import attrs
import pytest
import tomlkit
import torch

from ticketlab.core import settings as tables
from ticketlab.core.component import Component
from ticketlab.core.component_class import check_component_class
from ticketlab.core.errors import PluginError, SettingError
from ticketlab.core.plugin_loading import NAME
from ticketlab.core.setting_values import settings_of
from ticketlab.testing.setting_examples import choices_of, number_type, outside_the_bounds, with_other_value
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.registration import registered
from ticketlab.testing.trials.reported_errors import broken_contracts
from ticketlab.testing.trials.workspace import Workspace, workspace_in

SIMILAR = 0.8
"""The similarity (difflib's ratio) from which the name of a class attribute counts as a misspelling."""


class ComponentTests:
    """The tests of every kind of component. Subclass the suite of the kind, such as ``PrunerTests``.

    - ``component``: the class to test.
    - ``required``: settings without which the component cannot be used, such as the file that it reads.
    - ``settings``: further settings to test, in addition to the defaults: a mapping for each.
    - ``unbounded``: names of numeric settings that may have any value.
    - ``uses``: further classes that the settings name, and that no installed plugin registers.
    """

    component: ClassVar[type[Component]]
    required: ClassVar[Mapping[str, Any]] = {}
    settings: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    unbounded: ClassVar[tuple[str, ...]] = ()
    uses: ClassVar[tuple[type[Component], ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, test in list(vars(cls).items()):
            if name.startswith("test_") and inspect.isfunction(test):
                setattr(cls, name, broken_contracts()(test))

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run each test of ``made`` with the defaults, and with each of ``settings``."""
        if "made" in metafunc.fixturenames:
            variants = [{}, *self.settings]
            names = [",".join(f"{name}={value}" for name, value in variant.items())[:60] or "defaults" for variant in variants]
            metafunc.parametrize("made", variants, ids=names, indirect=True)

    @pytest.fixture(autouse=True)
    def _registered(self) -> Iterator[None]:
        """Register the component where no installed plugin does, and use one thread, as tiny models are slower with more."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        with contextlib.ExitStack() as stack:
            stack.callback(torch.set_num_threads, threads)
            try:
                stack.enter_context(registered(self.component, *self.uses))
            except PluginError as problem:
                require(False, str(problem))
            yield

    @pytest.fixture
    def made(self, request: pytest.FixtureRequest) -> Component:
        """The component with the settings of this test."""
        return self.make(**request.param)

    @pytest.fixture
    def workspace(self, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
        """The models and the data that all suites share."""
        return workspace_in(tmp_path_factory.getbasetemp() / "ticketlab-testing")

    def make(self, **settings: Any) -> Component:
        """Return the component with some settings, given as in a recipe, beside ``required``."""
        return tables.from_table(self.component, {**self.required, **settings})

    def test_the_class_can_be_used(self) -> None:
        """The class is frozen, and has a name, a summary in one line, a paper and a version."""
        cls = self.component
        try:
            check_component_class(cls)
        except TypeError as problem:
            require(False, str(problem))
        require(bool(NAME.fullmatch(cls.name)), f"{cls.__name__}.name is {cls.name!r}: use letters, digits and `_-.+`, not all digits")
        summary = getattr(cls, "summary", None)
        require(
            isinstance(summary, str) and bool(summary.strip()) and "\n" not in summary,
            f"{cls.__name__}.summary is {summary!r}: write what the component does in one line",
        )
        require(isinstance(cls.paper, str), f"{cls.__name__}.paper is {cls.paper!r}: write a string, or leave it out")
        version: object = cls.version
        require(type(version) is int and version >= 1, f"{cls.__name__}.version is {version!r}: write a whole number from 1")

    def test_class_attributes_are_not_misspelt(self) -> None:
        """A class attribute that overrides nothing has no name that is nearly that of one which does."""
        bases = [base for base in self.component.__mro__ if base.__module__.partition(".")[0] == "ticketlab"]
        known = {name for base in bases for name in vars(base) if not name.startswith("_")}
        for name in _own_attributes(self.component) - known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=SIMILAR)
            require(
                not near,
                f"{self.component.__name__}.{name} is not read by anything: did you mean `{next(iter(near), '')}`? "
                "Otherwise choose a name that is less similar",
            )

    def test_an_object_cannot_be_changed_and_equal_ones_have_equal_hashes(self, made: Component) -> None:
        """Settings are frozen; two objects are equal, with equal hashes, if all settings are."""
        again = attrs.evolve(made)
        require(made == again, f"two {type(made).__name__} with the same settings differ: write @frozen above the class, with its defaults")
        try:
            require(hash(made) == hash(again), f"two equal {type(made).__name__} have different hashes: leave __hash__ to @frozen")
        except TypeError as problem:
            require(False, f"{type(made).__name__} cannot be hashed ({problem}): write @frozen above the class, and tuples in its settings")
        for field in settings_of(type(made)):
            other = with_other_value(made, field)
            require(other != made, f"an object with another `{field.name}` is equal: leave __eq__ to @frozen, without eq=False")
            with pytest.raises(attrs.exceptions.FrozenInstanceError):
                setattr(made, field.name, getattr(made, field.name))

    def test_settings_survive_a_recipe_file(self, made: Component) -> None:
        """The settings, written as a table to TOML and read again, build an equal component."""
        table = tables.component_table(made)
        read = tomlkit.parse(tomlkit.dumps(table)).unwrap()
        built = tables.build_component(made.kind, read, "component")
        require(
            built == made,
            f"{type(made).__name__} read from TOML differs from the one that was written; a converter changes a value that it has "
            f"already converted: {_differing(made, built)}",
        )

    def test_every_setting_has_a_help_text(self) -> None:
        """``ticketlab show`` describes each setting."""
        for field in settings_of(self.component):
            require(bool(field.metadata["help"].strip()), f"`{field.name}` has no help: write what it does, `setting(..., help=...)`")

    def test_numbers_have_bounds(self) -> None:
        """Each numeric setting declares the values that make sense: a nonsensical one would otherwise run for hours."""
        for field in settings_of(self.component):
            if number_type(field) is None or field.name in self.unbounded:
                continue
            limited = bool(field.metadata["bounds"] or choices_of(field) or field.metadata["check"])
            require(
                limited,
                f"`{field.name}` has no bounds: declare them, `setting(..., at_least=0)`, or name it in `unbounded` of the test if it may "
                "have any value",
            )

    def test_values_outside_the_bounds_are_refused(self, made: Component) -> None:
        """A value outside of the bounds, an unknown choice and an unknown setting are errors."""
        for field in settings_of(type(made)):
            for value in outside_the_bounds(field):
                try:
                    attrs.evolve(made, **{field.name: value})
                except SettingError:
                    continue
                require(False, f"`{field.name}` accepts {value!r}, which its bounds exclude: let its converter keep the value")
        with pytest.raises(SettingError, match="has no such setting"):
            self.make(no_such_setting=1)

    def test_settings_are_part_of_the_key(self, made: Component) -> None:
        """Results with other settings are other results, unless the setting is declared with ``identity=False``."""
        for field in settings_of(type(made)):
            other = with_other_value(made, field)
            if other is None or "component" in field.metadata:
                continue
            same = tables.component_table(made, identity_only=True) == tables.component_table(other, identity_only=True)
            require(
                same != field.metadata["identity"],
                f"another value of `{field.name}` gives {'the same' if same else 'another'} key: its converter must keep different values "
                "apart",
            )


def _own_attributes(cls: type[Component]) -> set[str]:
    """Return the names of the public class attributes, without settings and methods, that a component class defines itself."""
    fields = {field.name for field in attrs.fields(cls)}
    found = set()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] not in ("ticketlab", "builtins"):
            values = {name: value for name, value in vars(base).items() if not name.startswith("_") and name not in fields}
            found |= {name for name, value in values.items() if not (inspect.isroutine(value) or inspect.isdatadescriptor(value))}
    return found


def _differing(one: Component, other: Component) -> str:
    """Return the first setting in which two components differ, with both values."""
    pairs = ((field.name, getattr(one, field.name), getattr(other, field.name, None)) for field in settings_of(type(one)))
    return next((f"`{name}` is {after!r}, and was {before!r}" for name, before, after in pairs if before != after), "their classes")
