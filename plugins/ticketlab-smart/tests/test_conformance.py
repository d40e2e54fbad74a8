"""The adversary keeps the contract of its kind, and the plugin that of plugins."""

from __future__ import annotations

import ticketlab_smart
from ticketlab_smart.smart import Smart

from ticketlab.testing import AdversaryTests, PluginTests


class TestSmart(AdversaryTests):
    """SMART with the settings of the paper, and with a perturbation that changes the predictions."""

    component = Smart
    settings = ({"share_dropout": True, "radius": 0.5, "step_size": 0.5, "steps": 2, "start_step": 1},)


class TestPlugin(PluginTests):
    """The entry module, with its recipe."""

    plugin = ticketlab_smart
