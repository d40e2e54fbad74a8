"""The loss keeps the contract of its kind, and the module that of plugins."""

from __future__ import annotations

import ticketlab_learned_mixin
from ticketlab_learned_mixin.learned_mixin import LearnedMixin

from ticketlab.testing import LossTests, PluginTests


class TestLearnedMixin(LossTests):
    """Also without entropy, and with a learning rate of its own."""

    component = LearnedMixin
    settings = ({"entropy": 0.0, "lr": 0.1},)


class TestPlugin(PluginTests):
    """The hook."""

    plugin = ticketlab_learned_mixin
