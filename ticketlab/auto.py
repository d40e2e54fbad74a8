"""Importing this lets transformers load shrunk models: ``AutoModelForSequenceClassification.from_pretrained(folder)``.

Registers them for every family that an adapter knows, plugins' too, with AutoConfig, AutoModel, AutoModelForMaskedLM and
AutoModelForSequenceClassification. ticketlab's own loader needs no such import.
"""

from __future__ import annotations

from ticketlab.backbone.adapters import model_types
from ticketlab.backbone.shrunk import register

for model_type in model_types():
    register(model_type)
