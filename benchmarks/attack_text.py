"""Compares how fast our attacked text and textattack's make candidates, for texts of several lengths.

``python benchmarks/attack_text.py --words 20 100 1000``
"""

from __future__ import annotations

import argparse
import random

from timing import interleaved

from ticketlab.attacks.components.attacked_text import attacked_text
from ticketlab.resources.textattack_import import import_textattack

SENTENCE = 'the film (which seems) "fine", but it\'s not-so great -- and the plot, if there is one, never moves'
VOCABULARY = SENTENCE.split()


def made(text, candidates: int) -> list:
    """Return candidates with one word replaced, spread over the text."""
    return [text.replace_word_at_index(number * 7 % text.num_words, f"word{number}") for number in range(candidates)]


def only_texts(text, candidates: int) -> list[str]:
    return [candidate.text for candidate in made(text, candidates)]


def textfooler_reads(text, candidates: int) -> list[str]:
    """Read what TextFooler's constraints read: the new word, the number of words, a window of both texts around the change."""
    seen = []
    for candidate in made(text, candidates):
        at = next(iter(candidate.attack_attrs["newly_modified_indices"]))
        windows = [each.text_window_around_index(at, 15) for each in (candidate, text)]
        seen += [candidate.words[at], str(candidate.num_words), *windows]
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, nargs="+", default=[20, 100, 1000])
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    stock_class = import_textattack().shared.AttackedText
    print("words  what is read  textattack us  ours us  ratio  (per candidate, the fastest of the repeats)")
    for words in given.words:
        text = " ".join(random.Random(words).choices(VOCABULARY, k=words))
        for read in (only_texts, textfooler_reads):
            assert read(attacked_text({"text": text}), given.candidates) == read(stock_class(text), given.candidates)
            kinds = {
                "stock": lambda _, text=text, read=read: read(stock_class(text), given.candidates),
                "ours": lambda _, text=text, read=read: read(attacked_text({"text": text}), given.candidates),
            }
            seconds = interleaved(kinds, given.repeats)
            stock, ours = (seconds[name] / given.candidates * 1e6 for name in ("stock", "ours"))
            print(f"{words:5}  {read.__name__:20}  {stock:9.1f}  {ours:7.1f}  {stock / ours:6.1f}")


if __name__ == "__main__":
    main()
