from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticketlab.bias_models.overlap import WordOverlap
from ticketlab.core.errors import ResourceError
from ticketlab.resources import vector_cache, word_vectors
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.resources.word_vectors import WordVectors, read

GROUPS = """\
film 1 0 0.1
movie 1 0.05 0.1
movies 1 0.1 0.1
good 0 1 0
great 0.05 1 0
fine 0.1 1 0
bad 0 0.9 0.3
music 0 0 1
song 0 0.05 1
tune 0.05 0.05 1
"""


@pytest.fixture
def vectors(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text(GROUPS)
    return read(file)


def numbered(matrix) -> WordVectors:
    return WordVectors(np.asarray(matrix, dtype=np.float32), [f"w{number}" for number in range(len(matrix))])


def by_full_sort(vectors: WordVectors, word: int, topn: int) -> list[int]:
    """Neighbours by the definition: cosines of the stored numbers with all words, in double precision."""
    matrix = vectors.matrix.astype(np.float64)
    lengths = np.sqrt((matrix**2).sum(axis=1))
    lengths[lengths == 0] = 1
    cosines = (matrix * matrix[word]).sum(axis=1) / (lengths * lengths[word])
    return sorted((number for number in range(len(matrix)) if number != word), key=lambda number: (-cosines[number], number))[:topn]


def test_cosines_and_distances_equal_values_computed_by_hand():
    vectors = numbered([[3, 4], [4, 3], [-3, -4], [0, 0], [6, 8]])
    assert vectors.get_cos_sim("w0", "w1") == pytest.approx(24 / 25)
    assert vectors.get_cos_sim(0, "w2") == -1
    assert vectors.get_cos_sim(3, 0) == vectors.get_cos_sim(3, 3) == 0
    assert vectors.get_cos_sim(0, 4) == 1
    assert vectors.get_mse_dist(0, 1) == 2
    assert vectors.nearest_neighbours(0, 3) == [4, 1, 3]


def test_neighbours_exclude_the_word_itself(vectors):
    def names(word, n):
        return [vectors.index2word(index) for index in vectors.nearest_neighbours(vectors.word2index(word), n)]

    assert names("film", 2) == ["movie", "movies"]
    assert names("music", 1) == ["song"]
    assert len(names("good", 50)) == len(vectors) - 1
    assert names("good", 0) == names("fine", -1) == []


def test_ties_keep_their_order_and_zero_vectors_have_cosine_zero():
    vectors = numbered([[1, 0], [2, 0], [3, 0], [0, 0], [-1, 0]])
    assert vectors.nearest_neighbours(0, 4) == [1, 2, 3, 4]
    assert vectors.nearest_neighbours(3, 4) == [0, 1, 2, 4]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**31), st.sampled_from([3, 900, 1601]), st.sampled_from([1, 4, 60]), st.sampled_from([1, 10, 50]))
def test_neighbours_are_exact(seed, number, width, topn):
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(number, width)) if seed % 2 else generator.integers(-2, 3, (number, width))  # small integers tie
    vectors = numbered(matrix)
    asked = generator.integers(0, number, 6).tolist()
    vectors.prefetch([f"w{word}" for word in asked[:4]], topn)
    for word in asked:
        assert vectors.nearest_neighbours(word, topn) == by_full_sort(vectors, word, topn)


def nearly_equal(generator) -> WordVectors:
    base = generator.normal(size=50)
    return numbered(base + generator.normal(scale=3e-4, size=(3000, 50)))


def test_neighbours_are_exact_where_single_precision_is_not():
    vectors = nearly_equal(np.random.default_rng(0))
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    rough = np.argsort(-(unit @ unit[7]), kind="stable")[1:21].tolist()
    assert vectors.nearest_neighbours(7, 20) == by_full_sort(vectors, 7, 20) != rough


@pytest.mark.parametrize("scale", [1e-42, 1e-15, 1e15, 1e38])
def test_very_long_and_very_short_vectors_are_searched_correctly(scale):
    matrix = np.random.default_rng(1).uniform(-3.4, 3.4, size=(1000, 5))
    matrix[::3] *= scale
    vectors = numbered(matrix)
    for word in (0, 1, 999):
        assert vectors.nearest_neighbours(word, 12) == by_full_sort(vectors, word, 12)


def test_results_do_not_depend_on_the_batch():
    together, alone = nearly_equal(np.random.default_rng(2)), nearly_equal(np.random.default_rng(2))
    together.prefetch(together.words[:200], 10)
    for word in range(0, 200, 20):
        near = alone.nearest_neighbours(word, 10)
        assert together.nearest_neighbours(word, 10) == near
        fresh = nearly_equal(np.random.default_rng(2))
        for other in near:
            cosine = fresh.get_cos_sim(word, other)
            assert cosine == fresh.get_cos_sim(other, word) == together.get_cos_sim(word, other) == alone.get_cos_sim(other, word)


def test_fewer_neighbours_are_the_first_of_more_and_are_not_searched_again(monkeypatch):
    vectors = numbered(np.random.default_rng(3).normal(size=(400, 6)))
    ten = vectors.nearest_neighbours(5, 10)
    assert vectors.nearest_neighbours(5, 30)[:10] == ten
    monkeypatch.setattr(vectors, "_candidates", None)
    assert vectors.nearest_neighbours("w5", 10) == ten
    vectors.nearest_neighbours(5, 10).clear()
    assert vectors.nearest_neighbours(5, 10) == ten


def test_more_neighbours_than_there_are_words_are_not_searched_again(vectors, monkeypatch):
    assert len(vectors.nearest_neighbours("film", 50)) == 9
    monkeypatch.setattr(vectors, "_candidates", None)
    assert len(vectors.nearest_neighbours("film", 60)) == 9


def test_prefetch_ignores_unknown_words(vectors):
    vectors.prefetch(["film", "nowhere", "film"], 2)
    vectors.prefetch([], 2)
    assert vectors.nearest_neighbours("film", 2) == [1, 2]


def test_the_first_entry_of_a_repeated_word_counts():
    vectors = WordVectors(np.array([[1, 0], [0, 1], [1, 1]], dtype=np.float32), ["a", "b", "a"])
    assert vectors.word2index("a") == 0
    assert vectors.nearest_neighbours("a", 5) == [2, 1]


def test_unknown_words_raise_as_textattack_expects(vectors):
    assert vectors["nowhere"] is None
    assert vectors[99] is None
    with pytest.raises(KeyError):
        vectors.word2index("nowhere")
    with pytest.raises(IndexError):
        vectors.nearest_neighbours(99, 1)
    np.testing.assert_array_equal(vectors["good"], [0, 1, 0])


@pytest.mark.skipif(not installed(), reason="textattack is not installed")
@pytest.mark.parametrize("word", ["film", "Film", "FILM", "fiLm", "bad", "nowhere"])
def test_words_are_swapped_as_with_textattacks_own_embedding(vectors, word):
    textattack = import_textattack()
    textattack.shared.AbstractWordEmbedding.register(WordVectors)
    count = len(vectors)
    nearest = np.array([[number, *by_full_sort(vectors, number, count)] for number in range(count)])  # its file begins with the word
    index2word = dict(enumerate(vectors.words))
    theirs = textattack.shared.WordEmbedding(vectors.matrix, {w: i for i, w in index2word.items()}, index2word, nearest)
    swap = textattack.transformations.WordSwapEmbedding
    for candidates in (1, 4, 50):
        expected = swap(max_candidates=candidates, embedding=theirs)._get_replacement_words(word)
        assert swap(max_candidates=candidates, embedding=vectors)._get_replacement_words(word) == expected
    for a, b in itertools.combinations(range(count), 2):
        assert vectors.get_cos_sim(a, b) == pytest.approx(theirs.get_cos_sim(a, b), abs=1e-6)
        assert vectors.get_mse_dist(a, b) == pytest.approx(theirs.get_mse_dist(a, b), abs=1e-6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it contains no word vectors"),
        ("2 3\n", "it contains no word vectors"),
        ("good 1 2\nbad 1 x\n", "line 2: not a word and its vector"),
        ("good 1 2\nbad 0.5 1 2\n", "line 2: 3 numbers where there should be 2"),
        ("good 1 2\nbad 1\n", "line 2: 1 number where there should be 2"),
        ("good 1 2\n\nbad 1 2\n", "line 2: 0 numbers where there should be 2"),
        ("good\n", "line 1: 0 numbers"),
        ("2 2\ngood 1 2\nbad 1 nan\n", "line 3: a number is not finite"),
        ("good 1 2\nbad 1e99 2\n", "line 2: a number is not finite"),
    ],
)
def test_broken_vector_files_are_named_with_the_line(tmp_path, content, message):
    file = tmp_path / "vectors.txt"
    file.write_text(content)
    with pytest.raises(ResourceError, match=f"^{re.escape(str(file))}.*{message}"):
        read(file)


def test_a_word_may_have_spaces_as_in_glove_840b(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("good 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
    assert read(file).words == ["good", ". . .", "at name@domain.com"]
    assert read(file)[". . ."].tolist() == [3, 4]


def test_word2vec_text_and_numpy_files_are_read(tmp_path, vectors):
    text = tmp_path / "w2v.txt"
    text.write_text("2 3\ngood 1 2 3\nbad 4 5 6\n")
    assert read(text).words == ["good", "bad"]
    np.save(tmp_path / "own.npy", vectors.matrix)
    with pytest.raises(ResourceError, match=r"own\.txt"):
        read(tmp_path / "own.npy")
    (tmp_path / "own.txt").write_text("\n".join(vectors.words))
    own = read(tmp_path / "own.npy")
    assert own.nearest_neighbours("film", 2) == vectors.nearest_neighbours("film", 2)
    assert isinstance(own.matrix.base, np.memmap)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([{"a": 1}], dtype=object), "not a plain numpy array"),
        (np.zeros((2, 3)), "1 word for an array of shape"),
        (np.array([[1.0]] * 20000 + [[np.inf]]), "row 20000 holds a number that is not finite"),
        (np.array([[1.0], [1e300]]), "row 1 holds a number that is not finite"),
        (np.array([["0.5"], ["x"]]), "an array of <U3, but word vectors must be numbers"),
        (np.array([[1j], [2]]), "an array of complex128"),
        (np.zeros((2, 0)), "1 word for an array of shape"),
        (np.float32(1), "1 word for an array of shape"),
    ],
    ids=["pickled", "too many rows", "not finite", "beyond single precision", "strings", "complex", "no numbers", "no table"],
)
def test_invalid_arrays_are_refused(tmp_path, array, message):
    np.save(tmp_path / "bad.npy", array, allow_pickle=True)
    (tmp_path / "bad.txt").write_text("word\n" * (len(array) if array.shape[1:] == (1,) else 1))
    with pytest.raises(ResourceError, match=message):
        read(tmp_path / "bad.npy")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.npy", b"", "not a plain numpy array"),
        ("v.npy", b"\x93NUMPY\x01\x00v\x00" + b"(" * 5000, "not a plain numpy array"),
        ("v.bin", b"2 3\ngood \x00\x01\x02\x03", "not text but word2vec's binary format"),
        ("glove.zip", b"PK\x03\x04rest", "an archive"),
        ("vectors.pkl", b"\x80\x04\x95rest", "a pickle"),
        ("nowhere.txt", None, "there is no such file"),
    ],
)
def test_files_without_word_vectors_are_reported_in_one_line(tmp_path, name, content, message):
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ResourceError, match=message) as caught:
        read(file)
    assert str(file) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_words_of_an_array_are_checked(tmp_path):
    np.save(tmp_path / "v.npy", np.ones((2, 2), dtype=np.float16))
    (tmp_path / "v.txt").write_bytes(b"good\r\nbad\r\n")
    assert read(tmp_path / "v.npy").words == ["good", "bad"]
    (tmp_path / "v.txt").write_bytes(b"good\nb\xe4d\n")
    with pytest.raises(ResourceError, match=r"v\.txt line 2: not UTF-8"):
        read(tmp_path / "v.npy")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache folder, used for small files too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(vector_cache, "SMALLEST", 0)
    return tmp_path / "cache" / "ticketlab" / "word-vectors"


@pytest.fixture
def parses(monkeypatch):
    """The files that were read as text."""
    read_text, seen = word_vectors._read_text, []
    monkeypatch.setattr(word_vectors, "_read_text", lambda path: seen.append(path.name) or read_text(path))
    return seen


@pytest.fixture
def text_file(tmp_path):
    file = tmp_path / "glove.txt"
    file.write_text(GROUPS + "a\u2028b\x85c\rd 1 2 3\n", encoding="utf-8", newline="")  # none of these ends a line
    return file


def test_a_text_file_is_read_once_per_content(cache, parses, text_file):
    first, second = read(text_file), read(text_file)
    copy = text_file.rename(text_file.with_name("copy.txt"))
    third = read(copy)
    assert parses == ["glove.txt"]
    assert first.words == second.words == third.words
    assert first.words[-1] == "a\u2028b\x85c\rd"
    np.testing.assert_array_equal(first.matrix, second.matrix)
    assert isinstance(second.matrix.base, np.memmap)
    changed = copy.stat()
    copy.write_bytes(copy.read_bytes().replace(b"film 1", b"film 2"))
    os.utime(copy, ns=(changed.st_atime_ns, changed.st_mtime_ns))
    assert copy.stat().st_size == changed.st_size
    assert read(copy)["film"][0] == 2
    assert parses == ["glove.txt", "copy.txt"]


def cut_short(folder: Path) -> None:
    file = folder / "vectors.npy"
    file.write_bytes(file.read_bytes()[:-4])


BREAKAGES = {
    "a shorter array": cut_short,
    "an empty array file": lambda folder: (folder / "vectors.npy").write_bytes(b""),
    "no array": lambda folder: (folder / "vectors.npy").unlink(),
    "no words": lambda folder: (folder / "words.txt").unlink(),
    "fewer words": lambda folder: (folder / "words.txt").write_text("film\nmovie"),
    "words that are not text": lambda folder: (folder / "words.txt").write_bytes(b"\xff\n" * 11),
    "another type": lambda folder: np.save(folder / "vectors.npy", np.zeros((11, 3))),
    "a pickle": lambda folder: np.save(folder / "vectors.npy", np.array([{}] * 11), allow_pickle=True),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_damaged_cache_entry_is_recreated(cache, parses, text_file, breakage):
    words = read(text_file).words
    (place,) = cache.iterdir()
    BREAKAGES[breakage](place)
    for _ in range(2):
        assert read(text_file).words == words
    assert parses == ["glove.txt"] * 2
    assert list(cache.iterdir()) == [place]


def test_a_cache_that_is_not_writable_is_skipped(cache, parses, text_file):
    cache.parent.mkdir(parents=True)
    cache.write_text("a file where a folder should be")
    assert read(text_file).words == read(text_file).words
    assert parses == ["glove.txt"] * 2


def test_broken_and_small_files_are_not_cached(cache, text_file, monkeypatch):
    text_file.write_text("good 1 2\nbad 1 x\n")
    with pytest.raises(ResourceError, match="line 2"):
        read(text_file)
    monkeypatch.setattr(vector_cache, "SMALLEST", 1000)
    text_file.write_text("good 1 2\n")
    read(text_file)
    assert not cache.exists()


@pytest.mark.parametrize("suffix", ["txt", "parquet"])
def test_an_array_is_identified_with_its_words(tmp_path, suffix):
    words = tmp_path / ("v.txt" if suffix == "txt" else "v_index.parquet")
    for name in ("v.npy", words.name, "v.vec"):
        (tmp_path / name).touch()
    array, text = str(tmp_path / "v.npy"), str(tmp_path / "v.vec")
    assert Resources(word_vectors=array).identity(["word_vectors"]) == {"word_vectors": array, "word_vectors_words": str(words)}
    assert Resources(word_vectors=text).identity(["word_vectors"]) == {"word_vectors": text}
    assert WordOverlap(word_vectors=array).external_inputs() == Resources(word_vectors=array).identity(["word_vectors"])
