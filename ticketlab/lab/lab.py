"""A lab: a directory of stage results. Each is addressed by its key and computed once."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from ticketlab.core import files, progress, temporary
from ticketlab.core.errors import Damaged, TicketlabError
from ticketlab.lab import directory_facts, integrity, lease
from ticketlab.lab.holder import Holder
from ticketlab.lab.layout import EARLIER_LOCK, LEASE, RESULT, RUNS, STAGES, UNTIL_DONE, is_stage, stage_folder
from ticketlab.lab.results import find_impossible
from ticketlab.lab.store import Entry

READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


def is_read_only(folder: Path, root: Path) -> bool:
    """Return whether a folder inside an existing lab cannot be written or created."""
    place = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    return (place == root or root in place.parents) and not os.access(place, os.W_OK)


@frozen
class Lab:
    """Stages are in ``stages/``, runs in ``runs/``."""

    root: Path = field(converter=files.expand)

    def stage(self, key: str) -> Path:
        """Return the folder of a stage, finished or not."""
        return stage_folder(self.root, key)

    @property
    def place(self) -> str:
        """What other processes open the lab with (:func:`ticketlab.lab.open_lab.open_lab`): its path, or the URL of a store."""
        return str(self.root.absolute())

    def has(self, key: str) -> bool:
        """Return whether a stage is finished. Its result is not checked."""
        return is_stage(self.stage(key))

    def look_again(self) -> None:
        """Forget what was known some seconds ago, so that :meth:`has` sees what other machines have finished since."""

    def fetch(self, key: str) -> None:
        """Make the files of a finished stage available in its folder."""

    def publish(self, folder: Path, *, without: Collection[str] = ()) -> None:
        """Make the files of a run or study available to other machines, except those named in ``without``, which are still written."""

    @contextlib.contextmanager
    def updating(self, folder: Path, *, without: Collection[str] = ()) -> Iterator[None]:
        """Keep other processes from writing the folder of a study while the block reads and writes it.

        For a lab at a URL, the files are brought up to date before, and those not named in ``without`` are put there after.
        """
        held = lease.acquire(folder / LEASE, {}, title=folder.name)
        try:
            with files.guarded(folder, held):
                yield
        finally:
            held.release()

    def refresh(self) -> None:
        """Find out what other machines have finished and removed, and make the results of all stages available."""

    def files_in(self, folder: Path) -> Mapping[str, Entry] | None:
        """Return the files of a stage, run or study in the store, as of the last :meth:`refresh`; None for a directory.

        Names are relative to the folder.
        """
        return None

    def stage_keys(self) -> list[str]:
        """Return the keys of all stages, finished or not."""
        return sorted(
            folder.name
            for folder in self.root.glob(f"{STAGES}/??/*")
            if integrity.KEY.fullmatch(folder.name) and folder.name.startswith(folder.parent.name)
        )

    def remove(self, folder: Path) -> None:
        """Remove the folder of a stage, run or study from where other machines find it. The folder itself stays."""

    def traffic(self) -> Mapping[str, int]:
        """Return the numbers of operations and bytes that this process has exchanged with a store so far; empty for a directory."""
        return {}

    def holds(self, key: str, name: str) -> bool:
        """Return whether a finished stage has a file or folder of this name."""
        return (self.stage(key) / name).exists()

    def finish(self, key: str, result: Mapping[str, Any]) -> None:
        """Store the result of a stage whose files are in its folder. It is finished then."""
        folder = self.stage(key)
        files.write_json(folder / RESULT, integrity.seal(folder, result, without=UNTIL_DONE))
        for name in UNTIL_DONE:
            (folder / name).unlink(missing_ok=True)

    def result(self, key: str) -> dict[str, Any] | None:
        """Return the result of a stage, or None if it is not finished. A stage writes its result last.

        :raises Damaged: the result is not what the stage wrote.
        """
        path = self.stage(key) / RESULT
        if not path.exists():
            return None
        result = dict(integrity.read_result(path))
        problem = "not the result of a stage" if "cost" not in result else find_impossible(result)
        if problem is not None:
            raise Damaged(f"{path}: damaged ({problem}); delete its folder, and the stage is computed again")
        return result

    @contextlib.contextmanager
    def lock(self, key: str, title: str) -> Iterator[Path]:
        """Lock a stage's folder for this process, waiting for another process that computes the stage.

        What the block writes there atomically fails with :class:`~ticketlab.core.errors.LeaseLost` once another process has taken the lock
        over, because this one was stopped for too long (:mod:`ticketlab.lab.lease`).

        :raises TicketlabError: the lab is read-only.
        """
        folder = self.stage(key)

        def tell(holder: Holder) -> None:
            progress.say(f"{title}: being computed by {holder}; waiting")

        try:
            held = lease.acquire(folder / LEASE, {"stage": title}, title=title, waiting=tell)
        except OSError as problem:
            if problem.errno not in READ_ONLY:
                raise
            raise TicketlabError(f"{self.root}: the lab is read-only, and it lacks `{title}`; name another lab (--lab)") from None
        try:
            with files.guarded(folder, held):
                temporary.sweep(folder, locked=True)
                yield folder
        finally:
            held.release()

    def is_locked(self, key: str) -> bool:
        """Return whether a process computes a stage."""
        return lease.held_by(self.stage(key) / LEASE) is not None

    def facts(self) -> dict[str, Any]:
        """Return what the place of the lab supports (:mod:`ticketlab.lab.directory_facts`)."""
        return directory_facts.describe_directory(self.root)

    def sweep(self) -> None:
        """Remove what killed processes left in unfinished stages and in runs. Checkpoints are kept.

        Looks into every folder of the lab. A stage that is computed again does this for its own folder.
        """
        for folder in self.root.glob(f"{STAGES}/??/*"):
            if not (folder / RESULT).exists():
                lease.sweep(folder / LEASE)
                temporary.sweep(folder)
            with contextlib.suppress(OSError):
                (folder / EARLIER_LOCK).unlink(missing_ok=True)
                folder.rmdir()  # unless it is not empty
        for folder in self.root.glob(f"{RUNS}/*"):
            temporary.sweep(folder)
