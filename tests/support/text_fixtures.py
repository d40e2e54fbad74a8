import random

import pytest

WORDS = ["a", "the", "film", "story", "plot", "was", "is", "very", "not", "good", "bad", "great", "long", "and", "it", "no", "one", "but"]


@pytest.fixture(scope="session")
def paragraphs() -> list[str]:
    """Paragraphs of 9 to 60 words, and some of 3, which are too short to train on."""
    generator = random.Random(0)
    return [" ".join(generator.choices(WORDS, k=generator.randint(9, 60) if index % 8 else 3)) for index in range(96)]


@pytest.fixture
def text_file(paragraphs, tmp_path):
    """A .txt file with the paragraphs, separated by empty lines."""
    path = tmp_path / "words.txt"
    path.write_text("\n\n".join(paragraphs))
    return path
