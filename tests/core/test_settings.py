"""Settings: types, bounds and names are checked, and tables round-trip."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar, Literal, get_args

import attrs
import pytest
import tomlkit
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from ticketlab.adversaries.freelb import FreeLB
from ticketlab.core import registry
from ticketlab.core.component import Component
from ticketlab.core.errors import SettingError
from ticketlab.core.plugin_loading import Entry
from ticketlab.core.setting_values import parse_ratio, settings_of
from ticketlab.core.settings import component, from_table, ratio, setting, to_table
from ticketlab.losses.cross_entropy import CrossEntropy


@frozen
class Everything(Component):
    """One setting of each type."""

    kind: ClassVar[str] = "test"
    name: ClassVar[str] = "everything"
    summary: ClassVar[str] = "one setting of each sort"

    count: int = setting(3, at_least=1, below=10, help="a count")
    rate: float = setting(0.5, above=0, at_most=2, help="a rate")
    limit: float | None = setting(None, above=0, help="a limit, or none")
    flag: bool = setting(False, help="a flag")
    text: str = setting("", help="a text")
    names: tuple[str, ...] = setting((), help="names")
    scope: Literal["global", "local"] = setting("global", choices=("global", "local"), help="a choice")
    mode: Literal["fast", "slow"] = setting("fast", help="a choice whose bounds are its type's alone")
    share: float = ratio(0.25, help="a share")
    workers: int = setting(1, at_least=1, identity=False, help="changes how, not what")
    adversary: Any = component("adversary", "none", help="a component")
    attacks: Any = component("attack", "deepwordbug", many=True, help="components")


def _registered() -> list[Any]:
    kinds = registry.load(entry_points=False).by_kind().values()
    return [pytest.param(entry, id=f"{entry.kind} {entry.name}") for entries in kinds for entry in entries]


def _classes() -> list[Any]:
    return [pytest.param(param.values[0].load(), id=param.id) for param in _registered()]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        pytest.param({"count": 2.0}, "at.count: must be a whole number, not 2.0", id="float for int"),
        pytest.param({"count": "2"}, "at.count: must be a whole number, not '2'", id="text for int"),
        pytest.param({"count": True}, "at.count: must be a whole number, not True", id="bool for int"),
        pytest.param({"count": 0}, "at.count: must be at least 1, not 0", id="at_least"),
        pytest.param({"count": 10}, "at.count: must be below 10, not 10", id="below"),
        pytest.param({"count": None}, "at.count: must be a whole number, not None", id="None for int"),
        pytest.param({"rate": "fast"}, "at.rate: must be a number, not 'fast'", id="text for float"),
        pytest.param({"rate": True}, "at.rate: must be a number, not True", id="bool for float"),
        pytest.param({"rate": 0}, "at.rate: must be above 0, not 0.0", id="above"),
        pytest.param({"rate": 2.1}, "at.rate: must be at most 2, not 2.1", id="at_most"),
        pytest.param({"rate": float("nan")}, "at.rate: must be a finite number, not nan", id="nan"),
        pytest.param({"rate": float("inf")}, "at.rate: must be a finite number, not inf", id="inf"),
        pytest.param({"rate": 10**400}, "at.rate: int too large", id="a number beyond floats"),
        pytest.param({"limit": "nothing"}, "at.limit: must be a number, not 'nothing'", id="text for float or None"),
        pytest.param({"limit": -1}, "at.limit: must be above 0, not -1.0", id="a bound with None allowed"),
        pytest.param({"flag": 1}, "at.flag: must be true or false, not 1", id="int for bool"),
        pytest.param({"flag": "false"}, "at.flag: must be true or false, not 'false'", id="text for bool"),
        pytest.param({"text": 3}, "at.text: must be a string, not 3", id="int for text"),
        pytest.param({"names": "ab"}, "at.names: must be a list, not 'ab'", id="text for a list"),
        pytest.param({"names": {"a": 1}}, "at.names: must be a list, not {'a': 1}", id="table for a list"),
        pytest.param({"names": ["a", 3]}, "at.names: must be a string, not 3", id="wrong item of a list"),
        pytest.param({"scope": "globl"}, "at.scope: must be one of global, local, not 'globl'", id="choice"),
        pytest.param({"scope": 3}, "at.scope: must be one of global, local, not 3", id="int for a choice"),
        pytest.param({"mode": "sloow"}, "at.mode: must be one of fast, slow, not 'sloow'", id="choice by type"),
        pytest.param({"share": "1/0"}, "at.share: '1/0' is not a fraction; write 0.3 or 1/6", id="a fraction of nothing"),
        pytest.param({"share": "30%"}, "at.share: '30%' is not a fraction", id="percent"),
        pytest.param({"share": "7/6"}, "at.share: must be at most 1, not 1.16", id="more than all"),
        pytest.param({"share": "none"}, "at.share: 'none' is not a fraction", id="none where there is no None"),
        pytest.param({"cuont": 3}, "at.cuont: test `everything` has no such setting; did you mean `count`?", id="unknown, near"),
        pytest.param(
            {"zzz": 3}, "at.zzz: test `everything` has no such setting; available: `adversary`, `attacks`, `count`", id="unknown, far"
        ),
        pytest.param({"adversary": "freelbb"}, "at.adversary: unknown adversary `freelbb`; did you mean `freelb`?", id="component"),
        pytest.param({"adversary": 3}, "at.adversary: must name a component of kind adversary", id="int for a component"),
        pytest.param({"adversary": {}}, "at.adversary: must name a component of kind adversary", id="component without a name"),
        pytest.param({"adversary": {"name": "freelb", "stps": 2}}, "at.adversary.stps: adversary `freelb` has no such", id="nested key"),
        pytest.param({"adversary": {"name": "freelb", "steps": 0}}, "at.adversary.steps: must be at least 1, not 0", id="nested bound"),
        pytest.param(
            {"adversary": CrossEntropy()}, "at.adversary: must be of kind adversary, and `cross-entropy` is of kind loss", id="kind"
        ),
        pytest.param({"attacks": "deepwordbug"}, "at.attacks: must be a list, not 'deepwordbug'", id="text for components"),
        pytest.param({"attacks": ["deepwordbug", "x"]}, "at.attacks[1]: unknown attack `x`", id="second component"),
    ],
)
def test_an_invalid_setting_is_reported_with_its_path(table: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as problem:
        from_table(Everything, table, path="at")
    assert str(problem.value).startswith(message)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        pytest.param({"rate": 1}, 1.0, id="a whole number is a number"),
        pytest.param({"limit": None}, None, id="None"),
        pytest.param({"limit": "none"}, None, id="none, as TOML has no null"),
        pytest.param({"limit": 2}, 2.0, id="a number with None allowed"),
        pytest.param({"names": ["a"]}, ("a",), id="a list is a tuple"),
        pytest.param({"text": "none"}, "none", id="a text may be none"),
        pytest.param({"share": "1/6"}, 1 / 6, id="a fraction"),
        pytest.param({"share": "0.3"}, 0.3, id="a fraction in digits"),
        pytest.param({"share": 1}, 1.0, id="a whole"),
        pytest.param({"adversary": "freelb"}, FreeLB(), id="a component by name"),
        pytest.param({"adversary": {"name": "freelb", "steps": 7}}, FreeLB(steps=7), id="a component by table"),
        pytest.param({"adversary": FreeLB(steps=7)}, FreeLB(steps=7), id="a component itself"),
    ],
)
def test_a_setting_is_converted(table: dict[str, Any], expected: Any) -> None:
    found = getattr(from_table(Everything, table), next(iter(table)))
    assert found == expected
    assert type(found) is type(expected)


def test_a_table_with_a_name_is_not_modified() -> None:
    table = {"adversary": {"name": "freelb", "steps": 7}}
    from_table(Everything, table)
    assert table == {"adversary": {"name": "freelb", "steps": 7}}


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_a_fraction_is_its_quotient(top: int, bottom: int) -> None:
    assert parse_ratio(f"{top}/{bottom}") == top / bottom


@given(st.text())
def test_any_text_is_a_fraction_or_a_setting_error(text: str) -> None:
    with contextlib.suppress(SettingError):
        assert isinstance(parse_ratio(text), float)


tables = st.fixed_dictionaries(
    {},
    optional={
        "count": st.integers(1, 9),
        "rate": st.floats(0, 2, exclude_min=True),
        "limit": st.one_of(st.just("none"), st.floats(1e-9, 3e38)),
        "flag": st.booleans(),
        "text": st.text(),
        "names": st.lists(st.text()),
        "scope": st.sampled_from(["global", "local"]),
        "share": st.floats(0, 1),
        "workers": st.integers(1, 64),
        "adversary": st.sampled_from(["none", {"name": "freelb", "steps": 2}]),
        "attacks": st.sampled_from([["deepwordbug"], [{"name": "deepwordbug", "max_edit_distance": 3}], ["textfooler", "deepwordbug"]]),
    },
)


@given(tables)
def test_settings_round_trip_through_a_table_and_toml(table: dict[str, Any]) -> None:
    instance = from_table(Everything, table)
    assert from_table(Everything, to_table(instance)) == instance
    assert from_table(Everything, tomlkit.parse(tomlkit.dumps(to_table(instance))).unwrap()) == instance


@pytest.mark.parametrize("cls", _classes())
def test_every_component_and_stage_round_trips_through_a_table_and_toml(cls: type[Component]) -> None:
    instance = cls()
    assert from_table(cls, to_table(instance)) == instance
    assert from_table(cls, tomlkit.parse(tomlkit.dumps(to_table(instance))).unwrap()) == instance


@pytest.mark.parametrize("cls", _classes())
def test_only_settings_that_change_no_result_are_excluded_from_hashes(cls: type[Component]) -> None:
    newer = {field.name for field in settings_of(cls) if field.metadata.get("added_later")}
    without = newer | {field.name for field in settings_of(cls) if not field.metadata.get("identity", True)}
    assert set(to_table(cls())) - set(to_table(cls(), identity_only=True)) == without


def test_a_newer_setting_is_part_of_hashes_only_if_it_is_not_at_its_default() -> None:
    @frozen
    class Newer(Component):
        kind: ClassVar[str] = "test"
        name: ClassVar[str] = "newer"
        summary: ClassVar[str] = ""
        old: int = setting(1, help="old")
        new: float | None = setting(None, added_later=True, help="new")
        loss: Any = component("loss", None, added_later=True, help="newer still")

    def identity(**settings: Any) -> dict[str, Any]:
        return to_table(Newer(**settings), identity_only=True)

    assert identity() == identity(new=None, loss=None) == {"old": 1}
    assert identity(new=0.5) == {"old": 1, "new": 0.5}
    assert identity(loss="poe")["loss"]["name"] == "poe"
    assert to_table(Newer()) == {"old": 1, "new": "none", "loss": "none"}
    assert from_table(Newer, to_table(Newer())) == Newer()
    assert from_table(Newer, {"loss": "poe"}) == Newer(loss="poe")
    with pytest.raises(SettingError, match="loss: must name a component of kind loss"):
        from_table(Newer, {"loss": 3})


def test_a_table_without_a_name_has_settings_of_the_default_component() -> None:
    @frozen
    class Around(Component):
        kind: ClassVar[str] = "test"
        name: ClassVar[str] = "around"
        summary: ClassVar[str] = ""
        inner: Any = component("adversary", "freelb", help="inner")
        other: Any = component("adversary", None, help="no default")

    assert from_table(Around, {"inner": {"steps": 7}}) == from_table(Around, {"inner": {"name": "freelb", "steps": 7}})
    with pytest.raises(SettingError, match=r"inner.stps: adversary `freelb` has no such setting; did you mean `steps`"):
        from_table(Around, {"inner": {"stps": 7}})
    with pytest.raises(SettingError, match="other: must name a component of kind adversary"):
        from_table(Around, {"other": {"steps": 7}})


def test_settings_that_change_no_result_are_excluded_from_hashes_inside_components() -> None:
    @frozen
    class Outer(Component):
        kind: ClassVar[str] = "test"
        name: ClassVar[str] = "outer"
        summary: ClassVar[str] = ""
        inner: Any = attrs.field(default=Everything())

    assert "workers" in to_table(Outer())["inner"]
    assert "workers" not in to_table(Outer(), identity_only=True)["inner"]


@pytest.mark.parametrize("cls", _classes())
def test_every_setting_has_help(cls: type[Component]) -> None:
    assert all(field.metadata.get("help") for field in settings_of(cls))


@pytest.mark.parametrize("cls", _classes())
def test_every_component_has_a_summary_of_one_line(cls: type[Component]) -> None:
    assert cls.__doc__
    assert cls.summary.strip()
    assert "\n" not in cls.summary
    assert not cls.summary.endswith(".")


@pytest.mark.parametrize("entry", _registered())
def test_registered_names_and_summaries_agree_with_the_classes(entry: Entry) -> None:
    cls = entry.load()
    assert (cls.kind, cls.name, cls.summary) == (entry.kind, entry.name, entry.summary)


UNUSABLE = [float("nan"), float("inf"), float("-inf"), 1e300, -1e300, 10**400, 10**5000]


@pytest.mark.parametrize("cls", _classes())
def test_no_number_setting_accepts_nan_infinity_or_huge_values(cls: type[Component]) -> None:
    for field in settings_of(cls):
        kinds = {int, float} & {field.type, *get_args(field.type)}
        for value in [*UNUSABLE, *([10**30] if float not in kinds else [])] if kinds else []:
            with pytest.raises(SettingError, match=rf"^stage\.{field.name}: [^\n]{{1,200}}$"):
                from_table(cls, {field.name: value}, path="stage")
            with pytest.raises(SettingError, match=rf"^{field.name}: [^\n]{{1,200}}$"):
                cls(**{field.name: value})


def test_python_callers_are_checked_as_strictly_as_tables() -> None:
    from ticketlab.adversaries.freelb import FreeLB

    for wrong in ({"steps": 2.5}, {"steps": "3"}, {"clean_pass": "yes"}, {"step_size": None}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            FreeLB(**wrong)
    assert to_table(FreeLB(step_size=1)) == to_table(FreeLB(step_size=1.0))
    assert str(to_table(FreeLB(step_size=1))["step_size"]) == "1.0"


def test_a_list_of_components_has_at_least_one_and_no_duplicates() -> None:
    from ticketlab.stages.attack import AttackStage

    with pytest.raises(SettingError, match="at least one"):
        AttackStage(attacks=())
    with pytest.raises(SettingError, match="already named `deepwordbug`"):
        AttackStage(attacks=("deepwordbug", "deepwordbug"))
