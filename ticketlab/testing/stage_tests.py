"""The conformance tests of stages: results that can be reproduced and resumed, files in the stage's own folder, and keys."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

import attrs

from ticketlab.backbone.loading import load_finished
from ticketlab.core.component import Component
from ticketlab.core.setting_values import settings_of
from ticketlab.runs.stage_key import BY_CONTENT, StageFacts
from ticketlab.stages.base import Context, Stage
from ticketlab.tasks.trained_on import TrainedOn, load_hashes
from ticketlab.testing.component_tests import ComponentTests
from ticketlab.testing.setting_examples import with_other_value
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.process_state import changes_to_process
from ticketlab.testing.trials.recorded_run import Outcome
from ticketlab.testing.trials.reported_errors import reported_errors
from ticketlab.testing.trials.stage_recipe import STAGE, recipe_of
from ticketlab.testing.trials.stage_run import StageRunner, hashes_in
from ticketlab.testing.trials.workspace import Workspace

LAST = 10**6
"""The number of a write that no stage reaches: the stage ends after its last one."""


class StageTests(ComponentTests):
    """The tests of a kind of stage, in a recipe of a tiny model and 24 examples.

    - ``stages``: earlier stages of the recipe, by name, as in a recipe file. A reference of the tested stage to any other name gets a
      stage of the first kind that it accepts.
    - ``measured``: names in the result of measurements that differ each time, such as a latency.
    - ``pairs``: whether to use pairs of texts.
    """

    component: ClassVar[type[Stage]]
    stages: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    measured: ClassVar[tuple[str, ...]] = ()
    pairs: ClassVar[bool] = False

    def test_it_runs_once(self, made: Component, workspace: Workspace) -> None:
        """The result is JSON, and the second run finds it in the lab."""
        runner, first, _, _ = self._whole(made, workspace)
        again, computed = runner.again(seed=2)
        require(not computed, "the second run computes the stage again: its key must depend on nothing but its settings and inputs")
        stored = attrs.evolve(first, trained=())  # nothing is trained in the second run
        require(not runner.difference(stored, again), "the result in the lab is not the one that was returned")

    def test_a_repeated_run_has_the_same_result_and_files(self, made: Component, workspace: Workspace) -> None:
        """A stage whose result was deleted gives the same one, whatever ran before and whatever the global random states are."""
        runner, first, _, _ = self._whole(made, workspace)
        differing = runner.difference(first, runner.whole(seed=2))
        require(
            not differing,
            f"a stage that was repeated differs in {differing}: take random numbers from a generator of `context.seed`, keep no "
            "state on the class or the module, and name measurements in `measured` of the test",
        )

    def test_an_interrupted_run_ends_alike(self, made: Component, workspace: Workspace) -> None:
        """Files of an interrupted run are still in ``context.directory`` when the stage runs again."""
        runner, first, context, places = self._whole(made, workspace)
        writes = sum(place.is_relative_to(context.directory.absolute()) for place in places)
        for at in sorted({0, writes // 2, max(writes - 1, 0), LAST}):
            with reported_errors():
                differing = runner.difference(first, runner.interrupted_writes([at], seed=3))
            when = f"before its write {at + 1} of {writes}" if at < LAST else "after its last write"
            require(not differing, f"a stage that was interrupted {when} and run again differs in {differing}: write each file completely")

    def test_it_writes_to_its_own_folder_alone(self, made: Component, workspace: Workspace) -> None:
        """The lab keeps what is in ``context.directory``; the files of other stages are sealed."""
        runner, _, _, _ = self._whole(made, workspace)
        stages = runner.lab / "stages"
        before = hashes_in(stages, without=runner.folder)
        _, context, places = runner.watched(seed=4)
        own = context.directory.absolute()
        code = Path(inspect.getsourcefile(type(made)) or "").parent
        watched = [runner.lab.absolute(), Path.cwd(), *([code] if code.name else [])]
        for place in places:
            elsewhere = any(place.is_relative_to(folder) for folder in watched) and not place.is_relative_to(own)
            log = place.is_relative_to(runner.lab.absolute() / "runs")  # `context.log`
            require(not elsewhere or log, f"`run` writes {place}: write to `context.directory`")
        changed = [name for name, digest in hashes_in(stages, without=runner.folder).items() if before.get(name, digest) != digest]
        require(not changed, f"`run` changes the file {next(iter(changed), '')} of another stage")

    def test_the_folder_is_not_part_of_the_result(self, made: Component, workspace: Workspace, tmp_path: Path) -> None:
        """A lab can be moved and copied, so neither the result nor a file has the path of the stage's folder."""
        runner, _, context, _ = self._whole(made, workspace)
        one, other = (runner.in_context(context, tmp_path / name) for name in ("one", "other"))
        require(one == other, "the result or a file depends on `context.directory`: write paths relative to it")

    def test_the_process_is_left_alone(self, made: Component, workspace: Workspace) -> None:
        """``run`` does not change the working directory, and seeds the global random generators, if it does, from ``context.seed``."""
        _, changes = self._with_two_seeds(made, workspace)
        require(not changes, f"`run` {changes}: use a generator of your own and absolute paths, or a seed derived from `context.seed`")

    def test_without_seeded_the_seed_changes_nothing(self, made: Component, workspace: Workspace) -> None:
        """All seeds of a run share the result of a stage whose class says ``seeded = False``."""
        if self.component.seeded:
            return
        (one, other), _ = self._with_two_seeds(made, workspace)
        require(
            one == other,
            "`seeded` is False, and the result depends on `context.seed`: write `seeded: ClassVar[bool] = True`, or do not use it",
        )

    def test_settings_change_the_key(self, made: Component) -> None:
        """A result with another setting is another result, unless ``unused()`` says that the setting has no effect."""
        stage: Any = made
        for field in settings_of(type(stage)):
            other = with_other_value(stage, field)
            if other is None or not field.metadata["identity"] or field.name in BY_CONTENT:
                continue
            unused = {path.partition(".")[0] for path in (*stage.unused(), *cast(Stage, other).unused())}
            same = StageFacts.of(stage, {}) == StageFacts.of(cast(Stage, other), {})
            require(
                not same or field.name in unused, f"another value of `{field.name}` gives the same key: see `identity` and `references`"
            )

    def test_a_model_can_be_used_in_place_of_a_trained_one(self, made: Component, workspace: Workspace) -> None:
        """A stage that replaces ``train`` writes a finished classifier, and the texts that the models it was made from were trained on."""
        runner, _, context, _ = self._whole(made, workspace)
        if not self.component.works_as("train"):
            return
        place = runner.folder / self.component.model_folder
        with reported_errors():
            load_finished(str(place), lambda _: None)
        known = load_hashes(str(place)) or TrainedOn()
        recorded, inputs = ({text for hashes in one.hashes.values() for text in hashes.tolist()} for one in (known, context.trained_on()))
        forgotten = inputs - recorded
        require(not forgotten, "the model does not record the texts that its inputs were trained on: write it with `context.save_model`")

    def _with_two_seeds(self, made: Component, workspace: Workspace) -> tuple[list[Any], str]:
        """Return the results and files with two seeds in the context, which are computed once, and what they do to the process."""
        key = (type(self), made, "seeds")
        if key not in workspace.outcomes:
            runner, _, context, _ = self._whole(made, workspace)
            folder = Path(tempfile.mkdtemp(prefix="seeds-", dir=workspace.root))
            found: list[Any] = []
            changes = changes_to_process(lambda seed: found.append(runner.in_context(context, folder / str(seed), seed=seed)))
            workspace.outcomes[key] = found, changes
        outcome: tuple[list[Any], str] = workspace.outcomes[key]
        return outcome

    def _whole(self, made: Component, workspace: Workspace) -> tuple[StageRunner, Outcome, Context, list[Path]]:
        """Return what runs the stage, and the outcome, the context and the written paths of its first run, made once."""
        key = (type(self), made)
        if key not in workspace.outcomes:
            with reported_errors():
                recipe = recipe_of(cast(Stage, made), workspace, self.stages, pairs=self.pairs, seeds=[0])
                runner = StageRunner(recipe, workspace.root, STAGE, self.measured)
                workspace.outcomes[key] = runner, *runner.watched(seed=1)
        found: tuple[StageRunner, Outcome, Context, list[Path]] = workspace.outcomes[key]
        return found
