"""A WordNet of four synsets, in the format of the real one."""

from __future__ import annotations

from pathlib import Path

HEAD = "  1 a line of the licence\n"
SYNSETS = {
    "noun": (["film", "movie", "motion_picture", "picture"], ["film", "cinema"], ["goose"]),
    "verb": (["film", "shoot", "take"],),
    "adj": (),
    "adv": (),
}
LETTERS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


def write_wordnet(folder: Path) -> Path:
    """Write it to a folder, without ``lexnames``, as Debian has it."""
    folder.mkdir(parents=True)
    for part, synsets in SYNSETS.items():
        data, offsets = HEAD, {}
        for words in synsets:
            for word in words:
                offsets.setdefault(word, []).append(len(data))
            lemmas = " ".join(f"{word} 0" for word in words)
            frames = " 00" if part == "verb" else ""
            data += f"{len(data):08d} 06 {LETTERS[part]} {len(words):02x} {lemmas} 000{frames} | what it means  \n"
        (folder / f"data.{part}").write_text(data)
        lines = (
            f"{word} {LETTERS[part]} {len(places)} 0 {len(places)} 0 {' '.join(f'{place:08d}' for place in places)}  \n"
            for word, places in sorted(offsets.items())
        )
        (folder / f"index.{part}").write_text(HEAD + "".join(lines))
        (folder / f"{part}.exc").write_text("geese goose\n" if part == "noun" else "")
    return folder
