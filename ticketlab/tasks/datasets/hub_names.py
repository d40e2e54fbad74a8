"""Parses names of hub data sets: ``owner/name``, ``owner/name:config``, ``owner/name:config@revision``."""

from __future__ import annotations

import re

from attrs import frozen

_PART = r"[A-Za-z0-9_](?:[\w.-]*[\w-])?"
_NAME = re.compile(rf"(?P<dataset>(?P<owner>{_PART}/)?{_PART})(?::(?P<config>[^:@/\s]+))?(?:@(?P<revision>[^:@\s]+))?")


@frozen
class HubName:
    """A data set on the hub, its configuration, and its branch, tag or commit."""

    dataset: str
    config: str | None = None
    revision: str | None = None

    def __str__(self) -> str:
        return self.dataset + (f":{self.config}" if self.config else "") + (f"@{self.revision}" if self.revision else "")


def parse(value: str, *, owner: bool = True) -> HubName | None:
    """Parse a name; None if it is not one. Unless ``owner`` is required, names without owner, of a few old data sets, are accepted too."""
    match = _NAME.fullmatch(value)
    if match is None or (owner and not match["owner"]):
        return None
    return HubName(match["dataset"], match["config"], match["revision"])
