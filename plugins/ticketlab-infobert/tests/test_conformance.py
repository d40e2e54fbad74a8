"""The adversary keeps the contract of its kind, and the plugin that of plugins."""

from __future__ import annotations

import ticketlab_infobert
from ticketlab_infobert.infobert import InfoBert

from ticketlab.testing import AdversaryTests, PluginTests


class TestInfoBert(AdversaryTests):
    """InfoBERT around FreeLB, and around no other adversary with a rate of its own for the critic."""

    component = InfoBert
    settings = ({"inner": "none", "lr": 0.01, "lowest": 0.0, "highest": 1.0},)


class TestPlugin(PluginTests):
    """The entry module, with its recipes."""

    plugin = ticketlab_infobert
