"""Tokens that are reused word by word equal those of the whole text, for each family of tokenizers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers  # type: ignore[import-untyped]
from transformers import BertTokenizer, PreTrainedTokenizerFast

from ticketlab.inference import tokenization
from ticketlab.inference.local_tokenizers import is_local
from ticketlab.inference.segments import Segments, segments_of
from ticketlab.testing.models.tiny_tokenizer import BERT_SPECIAL, DECODER_SPECIAL, ROBERTA_SPECIAL

ENGLISH = "the film Film filmfilm don't e.g. (which) 2024 3.5% -- co-op \"quoted\" `` '' ``good'' x<y U.S. NA\u00cfVE " + "very" * 26
LETTERS = "na\u00efve caf\u00e9 \u00bd \ufb01lm \u0130 \u00df \u039f\u0394\u039f\u03a3 \u03a3 \u2126 \u0149 \u0132 \u0587 \u01c4 \u1e9e"
SCRIPTS = (
    "\u96fb\u5f71 \u6211\u559c\u6b22film \u30ab\u30e1\u30e9 \u30ab\uff9e \ud55c\uad6d \u1112\u1161\u11ab \u1100\uac00 "
    "\u0915\u094d\u200d\u092f\u093e \u0e04\u0e33 \u0e33 \u0645\u064f\u062e \u05e9\u05c1 \u0600 \u0600a \u0d4e \u0d4ea \U000110bd"
)
MARKS = (
    "\u0301 a\u0301 \u0308b \u00a8 \u00b4 \u00b8 \u2017 \u037a \u0384 \u2026 \u201cfilm\u201d \u200b \u200d \u00ad \ufeff \ufe0f "
    "\x00 \x01 a\x01 \x7f \u2028x "
    "\U0001f600 \U0001f469\u200d\U0001f4bb \U0001f1e9\U0001f1ea \U0001f3fd \u2581 \u2581film film\u2581 \u0120 \u010a \ud7b0"
)
TOKENS = "[UNK] [MASK] [MASK], x[UNK]y [SEP] <mask> x<mask>, </s> <unk> <|endoftext|> [unk] plot STRIP xSTRIP"
PIECES = [*ENGLISH.split(" "), *LETTERS.split(" "), *SCRIPTS.split(" "), *MARKS.split(" "), *TOKENS.split(" ")]
SPACES = [" "] * 12 + ["", "", "  ", "   ", "\n", " \n", "\t ", "\u00a0", "\u3000", "\x1c", "\x85", "\u2028", ", ", ". ", "\u200b "]
words = st.one_of(st.sampled_from(ENGLISH.split(" ")), st.sampled_from(PIECES), st.text(max_size=3))
texts = st.lists(st.tuples(words, st.sampled_from(SPACES)), max_size=14).map(lambda pairs: "".join(map("".join, pairs)))
CORPUS = [
    "the film was good, and the plot wasn't: na\u00efve caf\u00e9 2024 filmfilm",
    "der Film \u96fb\u5f71 \u039f\u0394\u039f\u03a3 a b c d e f g",
] * 4
SPACE_RUNS = normalizers.Replace(Regex(" {2,}"), " ")


def framed(tokenizer: Tokenizer, special: dict[str, str], pair: str, added: tuple[AddedToken, ...] = ()) -> PreTrainedTokenizerFast:
    """Return a tokenizer with special tokens, some of them around a text, and others that are found in texts."""
    tokenizer.add_special_tokens([*dict.fromkeys(special.values())])
    if pair:
        single = " ".join(pair.split()[:3])
        ids = [(token, tokenizer.token_to_id(token)) for token in (special["cls_token"], special["sep_token"])]
        tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=["input_ids", "token_type_ids", "attention_mask"], **special
    )
    made.add_tokens([*added, AddedToken("plot", single_word=True, normalized=True), AddedToken("STRIP", rstrip=True, lstrip=True)])
    return made


BERT_PAIR, ROBERTA_PAIR = "[CLS] $A [SEP] $B:1 [SEP]:1", "<s> $A </s> </s> $B </s>"


def wordpiece(**settings: Any) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(**settings), pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=90, special_tokens=["[UNK]"], show_progress=False))
    return framed(tokenizer, BERT_SPECIAL, BERT_PAIR)


def byte_level(before: Any = None, *, prefix: bool = False, special: dict[str, str] = ROBERTA_SPECIAL, pair: str = ROBERTA_PAIR) -> Any:
    tokenizer = Tokenizer(models.BPE())
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.pre_tokenizer = splitter if before is None else pre_tokenizers.Sequence([before, splitter])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet, show_progress=False))
    return framed(tokenizer, special, pair, (AddedToken("<mask>", lstrip=True),) if pair else ())


def unigram(normalizer: Any, splitter: Any) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    trainer = trainers.UnigramTrainer(vocab_size=70, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return framed(tokenizer, ROBERTA_SPECIAL, ROBERTA_PAIR)


def metaspace(scheme: str, **settings: Any) -> Any:
    return pre_tokenizers.Metaspace(prepend_scheme=scheme, **settings)


LOCAL: dict[str, Callable[[], Any]] = {
    "WordPiece, lower case": lambda: wordpiece(lowercase=True),
    "WordPiece, cased": lambda: wordpiece(lowercase=False, strip_accents=False, handle_chinese_chars=False),
    "byte-level BPE": byte_level,
    "byte-level BPE with a space before": lambda: byte_level(prefix=True),
    "byte-level BPE with digits apart": lambda: byte_level(pre_tokenizers.Digits(individual_digits=True)),
    "byte-level BPE without special tokens": lambda: byte_level(special=DECODER_SPECIAL, pair=""),
    "Unigram, as ALBERT": lambda: unigram(
        normalizers.Sequence(
            [normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), SPACE_RUNS]
        ),
        metaspace("always"),
    ),
    "Unigram, as DeBERTa": lambda: unigram(normalizers.Sequence([normalizers.Strip(), normalizers.NFKC(), SPACE_RUNS]), metaspace("first")),
    "Unigram, as XLM-R": lambda: unigram(
        normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), SPACE_RUNS]),
        pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace("always")]),
    ),
    "Unigram, never a space before": lambda: unigram(None, metaspace("never")),
}
CONVERTED = ("AlbertTokenizerFast", "XLMRobertaTokenizerFast", "DebertaV2TokenizerFast", "T5TokenizerFast", "XLNetTokenizerFast")
NOT_LOCAL: dict[str, Callable[[], Any]] = {
    "no pre-tokenizer": lambda: unigram(normalizers.Prepend("\u2581"), None),
    "one word for the whole text": lambda: unigram(None, metaspace("always", split=False)),
    "a pattern of its own": lambda: byte_level(pre_tokenizers.Split(Regex(r"\w+ \w+|."), "isolated")),
    "a normalizer that removes letters": lambda: unigram(normalizers.Replace("a", ""), metaspace("always")),
    "a normalizer of its own": lambda: unigram(normalizers.Replace(Regex("a b"), "c"), metaspace("always")),
}


def check_equal(tokenizer: Any, columns: list[tuple[str, ...]]) -> None:
    for length in (5, 8, 64) if len(columns[0]) == 1 else (22, 23, 64):  # to truncate pairs to less, tokenizers takes seconds
        assert list(tokenization.rows(tokenizer, columns, length)) == list(tokenization._whole(tokenizer, columns, length)), columns


def check_family(tokenizer: Any, examples: int) -> None:
    assert segments_of(tokenizer) is not None

    @settings(max_examples=examples, derandomize=True)
    @given(texts, st.lists(words, max_size=3), st.integers(0, 12))
    @example("the film [UNK] was good", ["x"], 2)
    @example("plot  the [MASK]\u0301 ", ["\u0600", "a"], 0)
    def equal(text: str, replacements: list[str], place: int) -> None:
        parts = text.split(" ")
        candidates = [" ".join([*parts[:place], word, *parts[place + 1 :]]) for word in replacements]
        check_equal(tokenizer, [(each,) for each in (text, *candidates)])
        check_equal(tokenizer, [(text, each) for each in (*candidates, "", "the film")])

    equal()


@pytest.mark.parametrize("family", LOCAL)
def test_reused_tokens_equal_those_of_the_whole_text(family: str) -> None:
    check_family(LOCAL[family](), 60)


@pytest.fixture(scope="module")
def sentencepiece_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    pytest.importorskip("google.protobuf")
    folder = tmp_path_factory.mktemp("spiece")
    (folder / "text.txt").write_text("\n".join(CORPUS * 9), encoding="utf-8")
    trainer.train(input=str(folder / "text.txt"), model_prefix=str(folder / "spiece"), vocab_size=70, hard_vocab_limit=False, minloglevel=2)
    return folder / "spiece.model"


@pytest.mark.parametrize("name", CONVERTED)
def test_reused_tokens_of_converted_sentencepiece_models_equal_those_of_the_whole_text(name: str, sentencepiece_model: Path) -> None:
    import transformers

    tokenizer = getattr(transformers, name)(vocab_file=str(sentencepiece_model))
    if name == "XLNetTokenizerFast":
        tokenizer.padding_side = "right"
    check_family(tokenizer, 40)


def test_reused_tokens_of_a_real_vocabulary_equal_those_of_the_whole_text(demo_tokenizer: Any) -> None:
    check_family(demo_tokenizer, 60)


@pytest.mark.parametrize("kind", NOT_LOCAL)
def test_other_tokenizers_tokenize_whole_texts(kind: str) -> None:
    tokenizer = NOT_LOCAL[kind]()
    assert segments_of(tokenizer) is None
    check_equal(tokenizer, [("the film a b",), ("the film",)])


def test_slow_tokenizers_tokenize_whole_texts(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("\n".join([*BERT_SPECIAL.values(), "film", "good"]), encoding="utf-8")
    tokenizer = BertTokenizer(str(tmp_path / "vocab.txt"))
    assert tokenizer.is_fast or segments_of(tokenizer) is None  # transformers 5 has no slow ones
    check_equal(tokenizer, [("good film",), ("film",)])


def test_tokenizers_of_other_packages_and_those_truncated_at_the_left_tokenize_whole_texts() -> None:
    class Own(PreTrainedTokenizerFast):
        pass

    tokenizer = wordpiece()
    assert not is_local(Own(tokenizer_object=tokenizer.backend_tokenizer))
    assert segments_of(tokenizer) is not None
    tokenizer.truncation_side = "left"
    assert segments_of(tokenizer) is None


def test_an_added_token_is_found_in_texts_that_were_known_before() -> None:
    tokenizer = wordpiece()
    check_equal(tokenizer, [("the good film",)])
    tokenizer.add_tokens([AddedToken("good", lstrip=True)])
    check_equal(tokenizer, [("the good film",), ("good film",)])


def test_only_new_words_and_those_next_to_added_tokens_are_tokenized(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = wordpiece()
    known = segments_of(tokenizer)
    assert known is not None
    words = [f"film{number}" for number in range(5000)]
    known.rows([(" ".join(words),)], 8000)
    seen: list[str] = []
    encoded = Segments._encoded
    monkeypatch.setattr(Segments, "_encoded", lambda self, texts: seen.extend(texts := list(texts)) or encoded(self, texts))
    known.rows([(" ".join([*words[:70], new, *words[71:]]),) for new in ("dull", "[UNK]", "film3")], 8000)
    assert sum(map(len, seen)) < 60
    known.rows([(" ".join([*words[:70], "unseen"] * 20),)], 12)
    assert "unseen" not in " ".join(seen)


def test_few_segments_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = wordpiece()
    known = segments_of(tokenizer)
    assert known is not None
    monkeypatch.setattr("ticketlab.inference.segments._MOST", 3)
    check_equal(tokenizer, [("the good film [UNK]",), ("a b c d e f",), ("the plot",)])
    assert len(known._first) + len(known._inner) < 20
