"""A worker process of a study: reads jobs as JSON lines on stdin, computes their stages, and answers each with a line on stdout.

``python -m ticketlab.studies.worker LAB LOG PLUGINS``, where PLUGINS are the arguments that
:meth:`ticketlab.core.plugin_selection.PluginSelection.to_arguments` returns. The worker ends when its stdin is closed, or when the process
that started it has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

SECONDS_BETWEEN_LOOKS = 1.0


def main(lab: str, log: str, *plugins: str) -> None:
    """Compute jobs until stdin is closed."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not be taken for an answer
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()

    from ticketlab.backbone.device import be_deterministic, remember_shapes
    from ticketlab.core import progress, registry
    from ticketlab.core.errors import Interrupted, OutOfSpace
    from ticketlab.core.plugin_selection import PluginSelection
    from ticketlab.lab.lab import Lab
    from ticketlab.runs.input_cache import InputCache
    from ticketlab.studies.job import Job, run_job
    from ticketlab.studies.job_errors import OUT_OF_SPACE, message_of

    registry.use(registry.load_selection(PluginSelection.from_arguments(plugins)))
    be_deterministic()
    remember_shapes()
    inputs = InputCache()
    with progress.warnings_once(), progress.without_details(), contextlib.suppress(Interrupted, KeyboardInterrupt):
        for line in sys.stdin:
            job = Job(**json.loads(line))
            answer: dict[str, Any] = {"key": job.key, "error": ""}
            try:
                try:
                    run_job(job, Lab(Path(lab)), inputs, Path(log))
                except Interrupted:
                    raise
                except Exception as problem:
                    answer["error"] = message_of(problem)
            except OutOfSpace as problem:
                answer |= {"error": str(problem), OUT_OF_SPACE: True}
            answers.write(f"{json.dumps(answer)}\n")
            answers.flush()


def _end_with_parent(parent: int) -> None:
    """End this process when its parent has ended: another worker may compute its stage then."""
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
