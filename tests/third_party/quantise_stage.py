"""A stage, as another package would have it: rounds the matrices of a finished model to a number of bits."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from attrs import frozen

from ticketlab.plugin import Context, SettingError, Stage, hookimpl, load_finished, reference, setting


@frozen
class Quantise(Stage):
    """Round the matrices of a model to ``2 ** bits - 1`` values each, symmetrically. Writes ``model/``."""

    name: ClassVar[str] = "quantise"
    summary: ClassVar[str] = "round the matrices of a model"
    seeded: ClassVar[bool] = False
    replaces: ClassVar[tuple[str, ...]] = ("train",)

    model: str = reference("train", accepts=("train", "search"), help="the model to round")
    bits: int = setting(8, at_least=2, at_most=16, help="bits of a value")

    @property
    def uses_task(self) -> bool:
        return False

    def check(self, named: Any) -> None:
        if isinstance(named.get("model"), Quantise):
            raise SettingError(f"model: `{self.model}` is quantised already")

    def run(self, context: Context) -> dict[str, Any]:
        model, tokenizer, _ = load_finished(context.inputs["model"].model, context.warn_of_input)
        largest = 2 ** (self.bits - 1) - 1
        changed = 0.0
        with torch.no_grad():
            for parameter in (one for one in model.parameters() if one.ndim == 2):
                scale = parameter.abs().max() / largest
                rounded = (parameter / scale).round() * scale
                changed = max(changed, float((rounded - parameter).abs().max()))
                parameter.copy_(rounded)
        context.save_model(model, tokenizer)
        return {"quantise": {"bits": self.bits}, "numbers": {"largest_change": changed}}


@hookimpl
def ticketlab_stages() -> list[type[Stage]]:
    return [Quantise]
