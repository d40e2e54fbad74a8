from __future__ import annotations

import pytest
import torch

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.masks import expand
from ticketlab.backbone.reinit import reinitialise


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("groups", [("heads", "neurons"), ("weights",)], ids=["structured", "unstructured"])
def test_weights_are_drawn_and_biases_are_zero_where_they_are_chosen(groups, inside, bert):
    backbone = Backbone(bert)
    parameters = dict(backbone.base.named_parameters())
    for parameter in parameters.values():
        parameter.data.fill_(7)
    shapes = {name: torch.Size(shape) for name, shape in backbone.units().items() if name.partition("/")[0] in groups}
    masks = {name: (torch.arange(shape.numel()) < shape.numel() // 2).view(shape) for name, shape in shapes.items()}
    reinitialise(backbone, masks, inside=inside, seed=0)
    expanded = expand(backbone, masks)
    assert any(name.endswith(".bias") for name in expanded) == ("heads" in groups)
    for name, parameter in parameters.items():
        chosen = expanded[name] == inside if name in expanded else torch.zeros(parameter.shape, dtype=torch.bool)
        assert bool((parameter[~chosen] == 7).all())
        if name.endswith(".bias"):
            assert bool((parameter[chosen] == 0).all())
        elif bool(chosen.any()):
            assert float(parameter[chosen].std()) == pytest.approx(0.02, rel=0.2)
