"""Any data set on the hub as a task; its columns are inferred like those of a local file."""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import frozen

from ticketlab.core import progress
from ticketlab.core.errors import DataError
from ticketlab.core.settings import setting
from ticketlab.tasks.datasets.hub_fetch import fetch, is_offline
from ticketlab.tasks.datasets.hub_names import HubName
from ticketlab.tasks.datasets.local import Tabular
from ticketlab.tasks.reading import arrow_rows
from ticketlab.tasks.reading.split_names import assign_splits
from ticketlab.tasks.reading.tables import SplitTables, Table


@frozen
class HubDataset(Tabular):
    """A data set on the hub by its name, or from the cache of the ``datasets`` library. Scripts of data sets are never run.

    The splits are those published as train, validation (or dev, or validation_matched) and test. An unlabelled test split is ignored.
    Results depend on the data, not on its name or revision.
    """

    name: ClassVar[str] = "hub"
    summary: ClassVar[str] = "a data set of the Hugging Face hub, as OWNER/NAME or OWNER/NAME:CONFIG"

    dataset: str = setting("", identity=False, help="the name of the data set, OWNER/NAME")
    config: str | None = setting(None, identity=False, help="its configuration, such as sst2 of nyu-mll/glue; none if it has only one")
    revision: str | None = setting(None, identity=False, help="a branch, tag or commit; if none, the main branch")

    @property
    def label(self) -> str:
        """Its name on the hub, with configuration and revision."""
        return self._source if self.dataset else self.name

    @property
    def _source(self) -> str:
        return str(HubName(self.dataset, self.config, self.revision))

    def _splits(self, default_split: str) -> SplitTables:
        if not self.dataset:
            raise DataError("task `hub` needs a name: pass a data set on the hub with `--task OWNER/NAME`")
        progress.say(f"{self._source}: reading from the hub, or from the cache of the datasets library")
        source = f"{self._source} (not a local file or folder)"
        data = fetch(self.dataset, self.config, None, source=source, alternative="a local copy with `--task PATH`", revision=self.revision)
        assigned = assign_splits(self._source, list(data))
        read = {split: self._table(data[name], name) for split, name in assigned.splits.items()}
        if not assigned.named:
            read = {default_split: next(iter(read.values()))}
        return SplitTables(read, assigned.named, tuple(self._notices(data, assigned.ignored)))

    def _table(self, data: Any, split: str) -> Table:
        names = {column: list(feature.names) for column, feature in data.features.items() if getattr(feature, "names", None)}
        found = arrow_rows.parse_table(f"{self._source} {split}", data.with_format("arrow")[:], names)
        return Table(f"{self._source} {split}", tuple(found.columns), found.rows, tuple(f"{split}: {notice}" for notice in found.notices))

    def _notices(self, data: Any, ignored: tuple[str, ...]) -> list[str]:
        notices = [f"splits that are not read: {', '.join(ignored)}"] if ignored else []
        config = getattr(next(iter(data.values())).info, "config_name", None)
        if self.config is None and config not in (None, "default"):
            notices.append(f"the configuration is `{config}`")
        if self.revision is not None and is_offline():
            notices.append("read offline from the cache, where revisions cannot be told apart")
        return notices
