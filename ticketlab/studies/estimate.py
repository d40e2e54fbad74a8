"""Estimates the time and disk of a plan from what the runs of a lab have measured."""

from __future__ import annotations

import statistics

from attrs import frozen

from ticketlab.core import quantities
from ticketlab.core.formatting import counted, duration
from ticketlab.studies.measured_work import measured_work
from ticketlab.studies.plan import Plan
from ticketlab.studies.planned_work import parts_of


@frozen
class Estimate:
    """The expected ``seconds`` and ``bytes`` of those stages that the lab lacks and that are like stages that were measured.

    ``measured`` is their number, ``stages`` that of all stages that the lab lacks, and ``unknown`` what the others are. A stop rule may end
    a search earlier than expected.
    """

    stages: int
    measured: int
    seconds: float
    bytes: int
    unknown: tuple[str, ...]


def estimate(plan: Plan) -> Estimate:
    """Return the estimate of a plan."""
    missing = [planned for planned in plan.stages.values() if not plan.lab.has(planned.key)]
    measured = measured_work(plan.lab.root)
    seconds, size, unknown, known = 0.0, 0, dict[str, None](), 0
    for planned in missing:
        parts = list(parts_of(plan, planned))
        found = [(measured[kind], units) for kind, units in parts if kind in measured]
        if len(found) == len(parts):
            known += 1
            seconds += sum(statistics.median(one.seconds / one.units for one in like) * units for like, units in found)
            size += round(sum(statistics.median(one.bytes for one in like) for like, _ in found[:1]))
        unknown |= {" ".join(kind): None for kind, _ in parts if kind not in measured}
    return Estimate(len(missing), known, seconds, size, tuple(unknown))


def describe_estimate(found: Estimate) -> list[str]:
    """Return the lines that describe an estimate."""
    if not found.stages:
        return ["every stage is in the lab: nothing is to be computed"]
    lines = [f"{counted(found.stages, 'stage')} to compute"]
    if found.measured:
        of = "" if found.measured == found.stages else f" for the {found.measured} of them that are like measured ones"
        time, size = f"about {duration(found.seconds)} one after the other", quantities.size(found.bytes)
        lines[0] += f": {time} and {size} of disk{of}, going by what this lab has measured"
    if found.unknown:
        lines.append(f"no estimate for {', '.join(found.unknown)}: the lab has not measured any")
    return lines
