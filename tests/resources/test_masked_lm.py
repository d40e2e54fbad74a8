from __future__ import annotations

import re
import shutil

import pytest
import torch
from attrs import evolve
from support.families import WITH_MLM
from transformers import AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerFast, RobertaConfig, RobertaForMaskedLM

from ticketlab import run
from ticketlab.backbone.loading import load_mlm, save
from ticketlab.core.errors import ResourceError
from ticketlab.recipes import recipe
from ticketlab.resources.masked_lm import EncodedText, MaskedLanguageModel
from ticketlab.resources.resources import Resources
from ticketlab.resources.textattack_import import import_textattack, installed
from ticketlab.resources.word_pieces import WordPieces
from ticketlab.tasks.demo.reviews import DemoTask

TEXTS = ["the film was good", "a very long story, but not a bad one for all that", "good", "was the film good"]


@pytest.fixture
def mlms(tiny, tmp_path):
    """Make a tiny masked language model of a family."""

    def make(family: str) -> MaskedLanguageModel:
        model, tokenizer, _ = load_mlm(str(tiny[family]), seed=3)
        return MaskedLanguageModel.load(str(save(model, tokenizer, tmp_path / family)))

    return make


@pytest.fixture
def mlm(tiny_mlm_folder):
    return MaskedLanguageModel.load(tiny_mlm_folder)


def asked(mlm, texts=TEXTS):
    return [(tokens, range(len(tokens.spans))) for tokens in map(mlm.tokens, texts)]


@pytest.mark.parametrize("family", WITH_MLM)
def test_predictions_equal_those_of_the_plain_model(mlms, family):
    mlm = mlms(family)
    for (tokens, positions), found in zip(asked(mlm), mlm.top(asked(mlm), 7), strict=True):
        with torch.no_grad():
            logits = mlm.model(**{name: torch.tensor([values]) for name, values in tokens.inputs.items()}).logits[0]
        expected = logits.log_softmax(-1).topk(7)
        assert list(found) == list(positions)
        assert [guess.ids for guess in found.values()] == expected.indices.tolist()
        torch.testing.assert_close(torch.tensor([guess.log_probs for guess in found.values()]), expected.values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", WITH_MLM)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_predictions_do_not_depend_on_the_batch(mlms, family, precision):
    made = mlms(family)
    mlm = MaskedLanguageModel(made.model, made.tokenizer, precision=precision)
    words = ["film", "story", "plot", "good", "bad", "great", "long", "one", "but", "all", "that", "very", "the"]
    texts = [*TEXTS, *(f"the {a} was {b}" for a in words for b in words[:5])]
    together = mlm.top(asked(mlm, texts), 9)
    assert together == [mlm.top([one], 9)[0] for one in asked(mlm, texts)]
    one = [mlm.top([(mlm.tokens(text), [2])], 9)[0][2] for text in texts[:8]]
    assert one == [found[2] for found in together[:8]]


def test_predictions_through_the_scheduler_equal_direct_ones(mlm):
    pytest.importorskip("greenlet")
    from ticketlab.attacks.engine.scheduler import Scheduler

    flights = Scheduler(lambda text: mlm.top([(mlm.tokens(text), [1])], 5)[0], in_flight=3)
    assert sorted(map(str, flights.run(TEXTS))) == sorted(str(mlm.top([(mlm.tokens(text), [1])], 5)[0]) for text in TEXTS)


def test_the_head_is_applied_only_to_the_requested_positions_without_padding(mlm):
    mlm.top([(mlm.tokens("tried"), [1])], 1)  # and with it whether rows can go together
    seen, embedded = [], []
    mlm.model.cls.predictions.decoder.register_forward_hook(lambda _, inputs, __: seen.append(tuple(inputs[0].shape)))
    mlm.model.get_input_embeddings().register_forward_hook(lambda _, inputs, __: embedded.append(inputs[0]))
    texts = ["the film was good", "the plot was bad", "a good one"]
    mlm.top([(mlm.tokens(text), positions) for text, positions in zip(texts, ([2], [1, 3], [4]), strict=True)], 3)
    assert seen == [(4, 32)]
    assert [tuple(ids.shape) for ids in embedded] == [(1, 32)]  # of 6, 6 and 7, filled up
    assert not any((ids == mlm.tokenizer.pad_token_id).any() for ids in embedded)


def test_a_family_without_a_known_head_gives_the_same_predictions(mlm):
    expected = mlm.top(asked(mlm), 5)
    mlm._head = None
    for found, guesses in zip(mlm.top(asked(mlm), 5), expected, strict=True):
        assert [guess.ids for guess in found.values()] == [guess.ids for guess in guesses.values()]


def test_no_positions_give_no_predictions(mlm):
    assert mlm.top([(mlm.tokens("good"), [])], 5) == [{}]
    assert mlm.top([], 5) == []


def test_tokens_are_found_by_their_characters_and_truncated(mlm):
    text = "good-qz film"
    tokens = mlm.tokens(text)
    names = mlm.tokenizer.convert_ids_to_tokens(tokens.inputs["input_ids"])
    assert [names[place] for place in tokens.at(0, 7)] == ["good", "-", "q", "##z"]
    assert [names[place] for place in tokens.at(8, 12)] == ["film"]
    long = mlm.tokens("film " * 500)
    assert len(long.spans) == mlm.max_length == 128
    assert long.at(5 * 125, 5 * 125 + 4) == [126]
    assert long.at(5 * 126, 5 * 126 + 4) == []
    assert len(mlm.top([(long, [126])], 3)[0]) == 1


def test_a_token_with_characters_outside_the_word_is_not_found(mlm):
    assert mlm.tokens("go\u200bod film").at(0, 2) == []
    assert mlm.tokens("go\u200bod film").at(0, 5) == [1]
    wide = EncodedText("a film", {}, [(0, 0), (0, 1), (1, 6), (0, 0)])  # some tokenizers count the blank before a word as its own
    assert wide.at(2, 6) == [2]


def test_among_excludes_other_entries_and_special_tokens(mlm):
    (found,) = mlm.top([(mlm.tokens("a good film"), [2])], 10_000, lambda piece: len(piece.text) == 1 and not piece.continues)
    ids = found[2].ids
    words = mlm.tokenizer.convert_ids_to_tokens(ids)
    assert sorted(words) == sorted(word for word in mlm.tokenizer.get_vocab() if len(word) == 1)
    (every,) = mlm.top([(mlm.tokens("a good film"), [2])], 10_000)
    kept = [(index, score) for index, score in zip(every[2].ids, every[2].log_probs, strict=True) if index in ids]
    assert list(zip(ids, found[2].log_probs, strict=True)) == kept
    (none,) = mlm.top([(mlm.tokens("a good film"), [2])], 10, lambda piece: piece.special)
    assert none[2].ids == []


def test_equally_likely_predictions_are_ordered_by_id(mlm):
    with torch.no_grad():
        mlm.model.cls.predictions.decoder.weight.zero_()
        mlm.model.cls.predictions.decoder.bias.zero_()
    (found,) = mlm.top([(mlm.tokens("a good film"), [1, 2])], 20)
    assert found[1].ids == found[2].ids == list(range(20))


@pytest.mark.parametrize("family", WITH_MLM)
def test_a_model_without_a_head_is_refused(tiny, family):
    with pytest.raises(ResourceError, match=r"has no masked language modelling head, .*`ticketlab show objective mlm`"):
        MaskedLanguageModel.load(str(tiny[family]))


def broken(folder, tmp_path, change):
    copy = tmp_path / "broken"
    shutil.copytree(folder, copy)
    change(copy)
    return str(copy)


def no_tokenizer(folder):
    for file in folder.glob("*token*"):
        file.unlink()
    (folder / "vocab.txt").unlink(missing_ok=True)


def another_tokenizer(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens([f"word{number}" for number in range(50)])
    tokenizer.save_pretrained(folder)


def no_mask_token(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.mask_token = None
    tokenizer.save_pretrained(folder)


def truncated_weights(folder):
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:2000])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (no_tokenizer, "no tokenizer"),
        (another_tokenizer, "do not match"),
        (no_mask_token, "no mask token"),
        (truncated_weights, "damaged or cut short"),
    ],
)
def test_a_broken_folder_is_refused_in_one_line(tiny_mlm_folder, tmp_path, change, reason):
    with pytest.raises(ResourceError, match=f"masked language model .*{reason}") as raised:
        MaskedLanguageModel.load(broken(tiny_mlm_folder, tmp_path, change))
    assert "\n" not in str(raised.value)


def test_loading_does_not_change_random_states(tiny_mlm_folder):
    before = torch.random.get_rng_state()
    MaskedLanguageModel.load(tiny_mlm_folder)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.fixture(scope="module")
def trained_run(tiny, tmp_path_factory):
    """A run whose stages learn from text, then a task."""
    root = tmp_path_factory.mktemp("trained")
    (root / "words.txt").write_text(
        "\n".join(f"the film was good and the story was very long {number}" for number in range(40)), encoding="utf-8"
    )
    objective = {"name": "mlm", "text": str(root / "words.txt"), "dev_rows": 4}
    table = {
        "head": {"kind": "train", "objective": objective, "trains": "head", "epochs": 1},
        "pretrain": {"kind": "train", "objective": objective, "start": "head", "epochs": 1, "lr": 1e-3},
        "finetune": {"kind": "train", "start": "pretrain", "epochs": 1},
        "evaluate": {"kind": "evaluate", "model": "finetune"},
        "model": str(tiny["bert"]),
        "max_length": 32,
        "precision": "fp32",
        "seeds": [0],
        "tasks": [DemoTask(rows=16, dev_rows=8, test_rows=8)],
    }
    done = run(recipe.build_recipe("small", table), root / "lab")
    (folder,) = (root / "lab" / "runs").iterdir()
    keys = {name: stage["key"] for name, stage in done.results["tasks"]["demo"]["0"].items()}
    return folder, {name: root / "lab" / "stages" / key[:2] / key for name, key in keys.items()}


@pytest.mark.parametrize("which", ["run", "stage", "model"])
def test_the_model_that_a_lab_trained_is_found(trained_run, which):
    folder, stages = trained_run
    place = {"run": folder, "stage": stages["pretrain"], "model": stages["pretrain"] / "model"}[which]
    resources = Resources(mlm=str(place))
    assert resources.where("mlm") == str(stages["pretrain"] / "model")
    found = resources.load_mlm()
    weights = AutoModelForMaskedLM.from_pretrained(stages["pretrain"] / "model").state_dict()
    assert all(torch.equal(weights[name], value) for name, value in found.model.state_dict().items())
    assert resources.load_mlm() is found
    assert evolve(resources, precision="bf16").load_mlm() is not found


def test_a_classifier_of_a_lab_is_not_a_masked_language_model(trained_run):
    with pytest.raises(ResourceError, match="has no masked language modelling head"):
        Resources(mlm=str(trained_run[1]["finetune"])).load_mlm()


@pytest.mark.parametrize("results", ["", "[]", '{"tasks": []}', '{"tasks": {"sst2": {"0": {"head": {"train": {"objective": "mlm"}}}}}}'])
def test_a_folder_without_a_model_is_not_found(tmp_path, results):
    (tmp_path / "results.json").write_text(results, encoding="utf-8")
    assert Resources(mlm=str(tmp_path)).where("mlm") is None
    with pytest.raises(ResourceError, match=r"masked language model `.*` not found: name the folder of a masked language model"):
        Resources(mlm=str(tmp_path)).check(["mlm"])


def test_bert_base_is_the_default(tiny_mlm_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert Resources().where("mlm") is None
    snapshot = tmp_path / "models--bert-base-uncased" / "snapshots" / "abc"
    shutil.copytree(tiny_mlm_folder, snapshot)
    (tmp_path / "models--bert-base-uncased" / "refs").mkdir()
    (tmp_path / "models--bert-base-uncased" / "refs" / "main").write_text("abc")
    assert Resources().where("mlm") == Resources(mlm="bert-base-uncased").where("mlm") == str(snapshot)
    assert Resources().load_mlm().max_length == 128


def entries(tokenizer, *, among):
    pieces = WordPieces(tokenizer, len(tokenizer))
    ids = tokenizer.get_vocab()
    return {token: (pieces[ids[token]].text, pieces[ids[token]].continues) for token in among}


def test_entries_of_wordpiece(tokenizer):
    assert entries(tokenizer, among=["film", "##s", "-"]) == {"film": ("film", False), "##s": ("s", True), "-": ("-", False)}
    pieces = WordPieces(tokenizer, len(tokenizer) + 2)
    assert pieces.marks_continuations
    assert pieces.word([tokenizer.get_vocab()[token] for token in ("film", "##s", "not")]) == "filmsnot"
    assert [index for index, piece in enumerate(pieces) if piece.special] == [0, 1, 2, 3, 4, len(tokenizer), len(tokenizer) + 1]


def test_reserved_entries_are_special(demo_tokenizer):
    pieces = WordPieces(demo_tokenizer, len(demo_tokenizer))
    special = [piece.text for piece in pieces if piece.special]
    assert {"[unused0]", "[unused993]", "[PAD]", "[MASK]"} <= set(special)
    assert len(special) == 994 + 5


def trained_tokenizer(kind, folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    text = ["a café film is a good film", "the films are not so good"] * 20
    if kind == "byte-level":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=marks, initial_alphabet=alphabet, show_progress=False)
    else:
        made = Tokenizer(models.Unigram())
        made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=60, special_tokens=marks, unk_token="<unk>", show_progress=False)
    made.train_from_iterator(text, trainer)
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    names = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>"}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, **names)


@pytest.mark.parametrize(("kind", "mark"), [("byte-level", "Ġ"), ("unigram", "▁")])
def test_entries_of_vocabularies_that_mark_where_a_word_begins(kind, mark, tmp_path):
    tokenizer = trained_tokenizer(kind, tmp_path)
    film = next(token for token in tokenizer.tokenize("a film") if "film" in token)
    assert film.startswith(mark)
    assert entries(tokenizer, among=[film, "s"]) == {film: ("film", False), "s": ("s", True)}
    pieces = WordPieces(tokenizer, len(tokenizer))
    assert not pieces.marks_continuations
    ids = tokenizer.convert_tokens_to_ids([film, "s"])
    assert (pieces.word(ids), pieces.word([ids[0], ids[0]])) == ("films", "film film")
    coffee = tokenizer("a café", add_special_tokens=False)["input_ids"][1:]
    assert pieces.word(coffee) == "café"
    assert [piece.text for piece in pieces if piece.special] == ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@pytest.mark.skipif(not installed(), reason="textattack is not installed")
@pytest.mark.parametrize("kind", ["byte-level", "unigram"])
def test_words_of_such_vocabularies_are_replaced(kind, tmp_path):
    from ticketlab.attacks.components.masked_swaps import span, swap_by_masking, swap_by_pieces

    attacked_text = import_textattack().shared.AttackedText
    tokenizer = trained_tokenizer(kind, tmp_path)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        config = RobertaConfig(vocab_size=len(tokenizer), max_position_embeddings=66, type_vocab_size=1, pad_token_id=1, **sizes)
        mlm = MaskedLanguageModel(RobertaForMaskedLM(config), tokenizer)
    film = next(token for token in tokenizer.tokenize("a film") if "film" in token)
    with torch.no_grad():
        mlm.model.lm_head.bias[tokenizer.convert_tokens_to_ids([film, "s"])] += 50
    text = attacked_text("the good, café gdt film")
    masked = swap_by_masking(mlm, candidates=2, min_confidence=0.0, whole_words=False)
    assert {found.text for found in masked._get_transformations(text, {1})} == {"the film, café gdt film", "the s, café gdt film"}
    whole = swap_by_masking(mlm, candidates=1, min_confidence=0.0, whole_words=True)
    assert [found.text for found in whole._get_transformations(text, {2})] == ["the good, film gdt film"]
    pieces = swap_by_pieces(mlm, candidates=2, order="first", combinations=100)
    assert len(mlm.tokens(text.text).at(*span(text, 3))) > 1
    found = [found.words[3] for found in pieces._get_transformations(text, {3})]
    assert found
    assert all(re.fullmatch("(film)?s+", word) for word in found)
    assert [found.text for found in pieces._get_transformations(attacked_text("so film"), {1})] == []  # `s` goes on with a word
    begins = {found.words[0] for found in pieces._get_transformations(attacked_text("so film"), {0})}
    assert len(mlm.tokens("so film").at(0, 2)) > 1 or begins == {"film", "s"}
