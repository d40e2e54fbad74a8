"""Tables whose columns come in blocks: one table where the terminal is wide enough, else several, none with a cell cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from ticketlab.core import formatting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

EMPTY = "-"
WIDEST = 10_000
NARROWEST = 16
"""The characters that a column of text keeps."""


@frozen
class Block:
    """Columns that stay together. ``lines`` has their cells, one tuple a line; ``note`` is what the caption says about them."""

    heads: tuple[str, ...]
    lines: Sequence[tuple[str, ...]]
    note: str = ""


@frozen
class Sheet:
    """What a table shows, before it is known how wide it may be. All texts are plain: they are escaped when drawn.

    ``stub`` stands on the left of every table; its first ``words`` columns are text, all other columns numbers. A line in ``baselines`` is
    left out of a table that has nothing about it.
    """

    title: str
    stub: Block
    blocks: tuple[Block, ...]
    words: int = 1
    baselines: frozenset[int] = frozenset()


def draw(sheet: Sheet, blocks: Sequence[Block] | None = None, *, tight: bool = False, widest_words: int | None = None) -> Table:
    """Return a table of some of the blocks of a sheet, by default of all.

    ``tight`` leaves less space between columns; columns of text are folded at ``widest_words`` characters.
    """
    from rich import box
    from rich.table import Table

    parts = sheet.blocks if blocks is None else blocks
    caption = "; ".join(block.note for block in (sheet.stub, *parts) if block.note)
    table = Table(title=shown(sheet.title), caption=shown(caption), box=box.SIMPLE, collapse_padding=tight)
    table.title_justify = table.caption_justify = "left"
    for number, head in enumerate(head for block in (sheet.stub, *parts) for head in block.heads):
        if number < sheet.words:
            table.add_column(shown(head), overflow="fold", max_width=widest_words)
        else:
            table.add_column(shown(head), justify="right")
    for line, stub in enumerate(sheet.stub.lines):
        cells = [cell for block in parts for cell in block.lines[line]]
        if line not in sheet.baselines or any(cell != EMPTY for cell in cells):
            table.add_row(*map(shown, [*stub, *cells]))
    return table


def shown(text: object) -> str:
    """Return a text for a cell: as :func:`ticketlab.core.formatting.printable` shows it, line breaks kept, and none of it markup."""
    from rich.markup import escape

    return escape(formatting.printable(text, lines=True))


def fit(sheet: Sheet, console: Console) -> list[Table]:
    """Return the tables that show a sheet: each has as many of the blocks, in their order, as the console is wide.

    Where one block alone is too wide, its lines' names are folded, and if that is not enough its columns part.
    """
    whole = draw(sheet)
    if _width(whole, console) <= console.width:
        return [whole]
    parts: list[list[Block]] = []
    for block in sheet.blocks:
        if parts and _width(draw(sheet, [*parts[-1], block], tight=True), console) <= console.width:
            parts[-1].append(block)
        else:
            parts.append([block])
    return [table for blocks in parts for table in _squeeze(sheet, blocks, console)]


def _squeeze(sheet: Sheet, blocks: Sequence[Block], console: Console) -> list[Table]:
    table = draw(sheet, blocks, tight=True)
    if _width(table, console) <= console.width:
        return [table]
    folded = draw(sheet, blocks, tight=True, widest_words=NARROWEST)
    room = console.width - _width(folded, console)
    if room >= 0:
        return [draw(sheet, blocks, tight=True, widest_words=NARROWEST + room // sheet.words)]
    if len(blocks[0].heads) == 1:
        return [folded]
    (block,) = blocks
    columns = [
        Block((head,), [(line[number],) for line in block.lines], "" if number else block.note) for number, head in enumerate(block.heads)
    ]
    return fit(evolve(sheet, blocks=tuple(columns)), console)


def _width(table: Table, console: Console) -> int:
    return console.measure(table, options=console.options.update(max_width=WIDEST)).maximum


def headings(labels: Sequence[str]) -> list[str]:
    """Return what stands over the columns of each of several models: the label without the words that all begin with; nothing for one."""
    if len(labels) < 2:
        return ["" for _ in labels]
    words = [label.split(" ") for label in labels]
    common = 0
    while all(len(own) > common + 1 and own[common] == words[0][common] for own in words):
        common += 1
    return ["\n".join([*own[common:], ""]) for own in words]
