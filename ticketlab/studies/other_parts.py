"""Finds out that the parts of a study have been given different arguments, or run where its stages have other keys."""

from __future__ import annotations

from pathlib import Path

from ticketlab.core import files, progress
from ticketlab.core.errors import UsageError
from ticketlab.lab.active_runs import active_runs
from ticketlab.recipes.run_name import file_system_safe
from ticketlab.runs.stage_cache import threads_in_key
from ticketlab.studies.part import Part
from ticketlab.studies.plan import Plan
from ticketlab.studies.study_folder import PLAN, is_study

DIFFERENT = "the data, the model, a plugin, the device or the number of threads differs"


def check_other_parts(plan: Plan, folder: Path, part: Part) -> None:
    """Compare a plan with those of the parts that run now and that have run before. Call it with the lock of the lab, before registering.

    A study of the same name that runs with other arguments is reported, and so is another division or another plan of an earlier part.

    :raises UsageError: a part that runs now has other stages.
    """
    own = f"{file_system_safe(plan.study.name)}-"
    for other in active_runs(plan.lab.root):
        if other.run == folder.name and not other.keys.issubset(plan.stages):
            raise UsageError(f"--part {part}: here the stages of {folder.name} are not those of a part that is running: {DIFFERENT}")
        if other.run != folder.name and other.run.startswith(own) and is_study(folder.with_name(other.run)):
            progress.warn(
                f"{other.run} is running now, a study of the same name with other arguments; parts of one study have the same arguments"
            )
    _compare_with_earlier(plan, folder, part)


def _compare_with_earlier(plan: Plan, folder: Path, part: Part) -> None:
    try:
        earlier = files.read_json(folder / PLAN)
        parts, threads, keys = earlier.get("parts"), earlier.get("threads"), {entry["key"] for entry in earlier["stages"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return
    if parts is None:
        return
    if parts != part.of:
        progress.say(f"note: {folder.name} was divided into {parts} parts before; run all {part.of} of the new division")
    if keys != set(plan.stages):
        why = f"there were {threads} threads, and here are {threads_in_key()}" if threads != threads_in_key() else DIFFERENT
        progress.warn(f"the stages of {folder.name} are not those of an earlier part, whose results are not used: {why}")
