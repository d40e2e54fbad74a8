"""What the workers of a study say: their records go to its log, their messages to stderr, and how far they are to the terminal."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from ticketlab.core.live import LiveLines
from ticketlab.executors.base import Message
from ticketlab.executors.messages import BAR, LOG, print_line


@define
class MessageMonitor:
    """Receives messages from any thread, and handles them in the thread that made it: at once there, else in :meth:`handle`.

    ``write`` writes a record to the log; ``title`` returns what a stage is called.
    """

    write: Callable[[Mapping[str, Any]], None]
    title: Callable[[str], str]
    lines: LiveLines
    _messages: queue.SimpleQueue[Message] = field(factory=queue.SimpleQueue)
    _thread: int = field(factory=threading.get_ident)

    def receive(self, message: Message) -> None:
        """Handle a message, or keep it for :meth:`handle`."""
        if threading.get_ident() == self._thread:
            self._handle(message)
        else:
            self._messages.put(message)

    def handle(self) -> None:
        """Handle the messages that have been received."""
        while True:
            try:
                message = self._messages.get_nowait()
            except queue.Empty:
                return
            self._handle(message)

    def _handle(self, message: Message) -> None:
        if message.kind == LOG:
            self.write({**message.payload, "place": message.place})
        elif message.kind == BAR:
            state = message.payload
            title = f"{self.title(message.key)}: {state['title']}"
            self.lines.update(message.key, title, done=state["done"], total=state["total"], note=state["note"])
        else:
            print_line(message.kind, str(message.payload))
