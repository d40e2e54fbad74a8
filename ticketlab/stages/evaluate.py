"""evaluate: clean accuracy of a model on a split of the task."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, ClassVar

import torch
from attrs import frozen

from ticketlab.backbone import loading
from ticketlab.backbone.device import pick_device
from ticketlab.options import reference, setting
from ticketlab.stages.base import Context, Split, Stage, split_setting
from ticketlab.tasks import label_map
from ticketlab.training.batch import tokenize
from ticketlab.training.evaluation import predict, scores


@frozen
class Evaluate(Stage):
    """Predict every example of a split. The majority baseline stands beside the accuracy."""

    name: ClassVar[str] = "evaluate"
    summary: ClassVar[str] = "clean accuracy and F1 of a model"
    seeded: ClassVar[bool] = False

    model: str = reference("train", accepts=("train",), help="a train stage, a model folder or a hub name")
    split: Split = split_setting("the examples to evaluate on; `all` is every split together")
    label_map: tuple[str, ...] = setting((), help="`MODEL_LABEL=TASK_LABEL`, where the names differ")
    batch_size: int = setting(64, at_least=1, unit="examples", identity=False, help="examples per forward pass")

    def run(self, context: Context) -> dict[str, Any]:
        """Evaluate; see :meth:`Stage.run`."""
        model, tokenizer, names = loading.load_finished(context.inputs["model"].model)
        order = label_map.match(names, context.data.label_names, self.label_map)
        examples = context.data.examples(self.split)
        model.to(pick_device())
        rows = tokenize(examples, tokenizer, context.max_length)
        started = time.perf_counter()
        logits = predict(model, rows, batch_size=self.batch_size)
        seconds = time.perf_counter() - started
        predicted = logits[:, order].argmax(dim=1)
        labels = torch.tensor(rows.labels)
        counts = Counter(rows.labels)
        return {
            "clean": {
                **scores(predicted, labels),
                "n": len(rows),
                "correct": int((predicted == labels).sum()),
                "majority": max(counts.values()) / len(rows),
                "truncated": rows.truncated,
            },
            "prediction_seconds": seconds,
        }
