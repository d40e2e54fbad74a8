"""export: write a model in a portable format, with a model card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.backbone import loading
from ticketlab.core.settings import reference, setting
from ticketlab.export import onnx
from ticketlab.export.model import FORMATS, Format, export_model
from ticketlab.export.provenance import Provenance
from ticketlab.lab.layout import EXPORTED, TICKET
from ticketlab.stages.base import Context, Stage
from ticketlab.stages.search import check_leaves_model
from ticketlab.tickets.ticket import Ticket


@frozen
class Export(Stage):
    """Write a model as a folder that can be used without a lab, ``exported/``.

    ``ticketlab ticket export`` does the same for a finished run. Its model card also has the run's results, which a stage does not have.
    """

    name: ClassVar[str] = "export"
    summary: ClassVar[str] = "write a model in a portable format"
    seeded: ClassVar[bool] = False
    model_folder: ClassVar[str] = EXPORTED
    shown_elsewhere: ClassVar[tuple[str, ...]] = ("model",)

    model: str = reference("train", accepts=("train", "search"), help="a train or search stage, a model folder or a hub name")
    ticket: str | None = reference(None, accepts=("draw",), help="a draw stage or a ticket file to apply first")
    format: Format = setting(
        "dense",
        choices=FORMATS,
        help="`dense` (zeros), `shrunk` (smaller; needs ticketlab), `onnx` (needs neither ticketlab nor torch), or "
        "`onnx-int8` (the same with 8-bit integers)",
    )

    @property
    def uses_task(self) -> bool:
        """False: the task's data is not used."""
        return False

    @property
    def shrinks(self) -> bool:
        """Whether it does: in every format but ``dense``."""
        return self.format != "dense"

    def check(self, named: Mapping[str, Stage]) -> None:
        """Refuse a search that produces no model; see :meth:`Stage.check`."""
        check_leaves_model(named)

    def check_packages(self) -> None:
        """Check the packages of the ONNX formats; see :meth:`Stage.check_packages`."""
        if self.format.startswith("onnx"):
            onnx.check_packages()

    def run(self, context: Context) -> dict[str, Any]:
        """Export; see :meth:`Stage.run`."""
        model, tokenizer, _ = loading.load_finished(context.inputs["model"].model, context.warn_of_input, any_outputs=True)
        ticket = Ticket.load(context.inputs["ticket"].file(TICKET)) if "ticket" in context.inputs else None
        base = context.model if context.inputs["model"].is_stage else ""
        provenance = Provenance(base_model=base, trained_on=context.trained_on())
        done = export_model(model, tokenizer, context.directory / EXPORTED, self.format, ticket=ticket, provenance=provenance)
        return {"export": done.to_table()}
