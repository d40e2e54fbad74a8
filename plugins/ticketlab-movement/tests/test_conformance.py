"""Both pruners keep the contract of their kind, and the module that of plugins."""

from __future__ import annotations

import ticketlab_movement
from ticketlab_movement.movement import Movement
from ticketlab_movement.soft_movement import SoftMovement

from ticketlab.testing import PluginTests, PrunerTests


class TestMovement(PrunerTests):
    """Hard movement pruning, also with a common ranking whose masks are kept for some steps."""

    component = Movement
    settings = ({"scope": "global", "update_steps": 3},)


class TestSoftMovement(PrunerTests):
    """Soft movement pruning, also with scores that reach the threshold within a few steps."""

    component = SoftMovement
    settings = ({"lr": 1.0, "threshold": 0.4},)


class TestPlugin(PluginTests):
    """The hooks and the recipes."""

    plugin = ticketlab_movement
