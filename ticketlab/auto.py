"""Import this module to let transformers load shrunk models: ``AutoModelForSequenceClassification.from_pretrained(folder)``.

It registers the shrunk models of every family that has an adapter, including those of plugins, with AutoConfig, AutoModel,
AutoModelForMaskedLM and AutoModelForSequenceClassification. ticketlab's own loader does not need it.
"""

from __future__ import annotations

from ticketlab.backbone.adapters import model_types
from ticketlab.backbone.shrunk_models import register

for model_type in model_types():
    register(model_type)
