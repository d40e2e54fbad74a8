"""The conformance tests of adapters: what an adapter names is what the models of its family compute with."""

from __future__ import annotations

from ticketlab.backbone.adapters import adapter_of
from ticketlab.testing.adapter_inputs import AdapterInputTests
from ticketlab.testing.adapter_masks import AdapterMaskTests
from ticketlab.testing.adapter_shrinking import AdapterShrinkingTests
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.reported_errors import reported_errors


class AdapterTests(AdapterMaskTests, AdapterShrinkingTests, AdapterInputTests):
    """The tests of an adapter, with tiny models of its family.

    - ``models``: model types or configs of transformers to test with, by default each of the adapter's ``model_types``.
    - ``unpruned``: paths of linear modules in a layer that the adapter leaves alone on purpose, such as a router.

    An adapter that names no ``attention`` module is tested for masks only, and that its models are not shrunk.
    """

    def test_each_model_type_has_this_adapter_alone(self) -> None:
        """A model type that another adapter supports is refused when such a model is loaded."""
        types = self.component.model_types
        require(bool(types), f'{self.component.__name__}.model_types is empty: name the `model_type` of its configs, `("bert",)`')
        for model_type in types:
            with reported_errors():
                found = type(adapter_of(model_type))
            require(
                found is self.component, f"`{model_type}` models are read by the adapter `{found.name}`, not by `{self.component.name}`"
            )
