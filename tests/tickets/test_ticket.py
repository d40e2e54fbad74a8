import copy
import hashlib
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save_file

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.classifier_head import head_of, put_head
from ticketlab.backbone.loading import load_classifier
from ticketlab.backbone.masks import expand
from ticketlab.core.errors import UsageError
from ticketlab.testing.models.tiny import tiny_model
from ticketlab.tickets.comparison import overlap
from ticketlab.tickets.draw import draw
from ticketlab.tickets.ticket import Ticket


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    root = tmp_path_factory.mktemp("tiny")
    return {family: tiny_model(family, root / family) for family in ("bert", "distilbert")}


def classifier(folder):
    return load_classifier(str(folder), ("negative", "positive"), 0)[0]


def ticket_for(model, groups=("weights",), sparsity=0.3):
    torch.manual_seed(0)
    backbone = Backbone(model)
    scores = {name: torch.rand(shape) for name, shape in backbone.units().items() if name.partition("/")[0] in groups}
    provenance = {"recipe": "robust-ticket", "seed": 3, "sparsity": sparsity, "ratios": (1, 2), "note": "déjà vu"}
    return Ticket(draw(scores, sparsity), backbone.fingerprint(), "found", backbone.weights_hash(), provenance)


@pytest.fixture
def ticket():
    torch.manual_seed(0)
    masks = {f"heads/{index}": torch.rand(12) > 0.5 for index in (10, 2, 0)} | {
        "weights/a.0": torch.rand(7, 5) > 0.4,
        "neurons/0": torch.zeros(0) > 0,
    }
    return Ticket(masks, "structure", "found", "rewind", {"b": 1, "a": [None, {"z": 1.5, "y": True}]})


def test_a_ticket_is_the_same_bytes_in_a_new_process(ticket, tmp_path):
    ticket.save(tmp_path / "new" / "ticket.safetensors")
    code = "import sys; from ticketlab.tickets.ticket import Ticket; Ticket.load(sys.argv[1]).save(sys.argv[2])"
    paths = [str(tmp_path / "new" / "ticket.safetensors"), str(tmp_path / "copy.safetensors")]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    assert (tmp_path / "copy.safetensors").read_bytes() == (tmp_path / "new" / "ticket.safetensors").read_bytes()
    again = Ticket.load(tmp_path / "copy.safetensors")
    assert again == ticket
    assert hash(again) == hash(ticket)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["ticket.safetensors"]


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.sampled_from(["weights/a", "weights/b.0", "heads/3", "neurons/11"]), st.lists(st.booleans(), max_size=20)))
def test_masks_are_read_back(tmp_path_factory, masks):
    ticket = Ticket({name: torch.tensor(mask, dtype=torch.bool) for name, mask in masks.items()}, "s", "f", "r")
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    ticket.save(path)
    assert Ticket.load(path) == ticket


def test_the_order_of_masks_does_not_matter(ticket, tmp_path):
    turned = Ticket(dict(reversed(ticket.masks.items())), "structure", "found", "rewind", dict(reversed(ticket.provenance.items())))
    turned.save(tmp_path / "turned")
    ticket.save(tmp_path / "straight")
    assert (tmp_path / "turned").read_bytes() == (tmp_path / "straight").read_bytes()
    assert list(ticket.masks) == ["heads/0", "heads/2", "heads/10", "neurons/0", "weights/a.0"]


@pytest.mark.parametrize("field", ["structure", "found_on", "rewind_to", "provenance", "masks"])
def test_tickets_that_differ_anywhere_are_not_equal(ticket, field):
    values = {name: getattr(ticket, name) for name in ("masks", "structure", "found_on", "rewind_to", "provenance")}
    changed = {"provenance": {"b": 2}, "masks": {**ticket.masks, "heads/0": ~ticket.masks["heads/0"]}}.get(field, "other")
    assert Ticket(**(values | {field: changed})) != ticket
    assert ticket != "a ticket"


def test_masks_are_stored_as_bits(tmp_path):
    ticket = Ticket({f"weights/{index}": torch.rand(384, 1536) > 0.3 for index in range(18)}, "s", "f", "r")
    ticket.save(tmp_path / "ticket")
    assert ticket.total() == 10_616_832
    assert (tmp_path / "ticket").stat().st_size == pytest.approx(10_616_832 / 8, rel=0.01)


def test_the_file_is_documented_safetensors_with_json_in_its_header(ticket, tmp_path):
    ticket.save(tmp_path / "ticket")
    with safe_open(tmp_path / "ticket", "np") as file:
        header = json.loads(file.metadata()["ticketlab"])
        packed = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert np.array_equal(packed["weights/a.0"], np.packbits(ticket.masks["weights/a.0"].numpy()))
    assert header["shapes"]["weights/a.0"] == [7, 5]
    assert (header["format"], header["provenance"]) == (3, {"a": [None, {"y": True, "z": 1.5}], "b": 1})
    rest = {key: value for key, value in header.items() if key != "sha256"}
    hashed = json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()
    for name in sorted(packed):
        hashed += f"\n{name} {packed[name].dtype} {packed[name].shape}\n".encode() + packed[name].tobytes()
    assert header["sha256"] == hashlib.sha256(hashed).hexdigest()


@pytest.mark.parametrize("head", [False, True], ids=["format 1", "format 2"])
def test_tickets_of_earlier_formats_are_read(head, with_head, ticket, tmp_path):
    ticket = with_head if head else ticket
    ticket.save(tmp_path / "ticket")
    with safe_open(tmp_path / "ticket", "np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    digest = hashlib.sha256(b"".join(tensors[name].tobytes() for name in sorted(tensors) if not name.startswith("head/")))
    if head:
        digest.update(json.dumps(["bad", "good"]).encode())
        for name in sorted(ticket.head):
            digest.update(f"{name} float32 {tuple(ticket.head[name].shape)}".encode() + tensors[f"head/{name}"].tobytes())
    rewrite(tmp_path / "ticket", header={"format": 2 if head else 1, "sha256": digest.hexdigest()})
    assert Ticket.load(tmp_path / "ticket") == ticket
    rewrite(tmp_path / "ticket", header={"sha256": "0" * 64})
    with pytest.raises(UsageError, match="damaged"):
        Ticket.load(tmp_path / "ticket")


@pytest.mark.parametrize(
    "changes",
    [
        {"header": {"found_on": "other"}},
        {"header": {"provenance": {"task": "other"}}},
        {"header": {"shapes": {"heads/0": [12], "heads/2": [12], "heads/10": [12], "neurons/0": [0], "weights/a.0": [5, 7]}}},
        {"neurons/0": None, "neurons/1": np.zeros(0, dtype=np.uint8)},
    ],
    ids=["weights", "provenance", "shapes", "names"],
)
def test_the_hash_covers_names_shapes_and_header(changes, ticket, tmp_path):
    ticket.save(tmp_path / "ticket")
    rewrite(tmp_path / "ticket", **copy.deepcopy(changes))
    with pytest.raises(UsageError, match="damaged"):
        Ticket.load(tmp_path / "ticket")


@pytest.fixture
def with_head(ticket):
    head = {"classifier.weight": torch.rand(2, 3), "classifier.bias": torch.zeros(2)}
    return Ticket(ticket.masks, ticket.structure, ticket.found_on, ticket.rewind_to, ticket.provenance, head, ("bad", "good"))


def test_a_classifier_is_read_back_with_its_labels(with_head, ticket, tmp_path):
    with_head.save(tmp_path / "ticket")
    again = Ticket.load(tmp_path / "ticket")
    assert again == with_head
    assert again != ticket
    assert again.labels == ("bad", "good")
    assert all(torch.equal(value, with_head.head[name]) for name, value in again.head.items())


def rewrite(path, **changes):
    with safe_open(path, "np") as file:
        header = json.loads(file.metadata()["ticketlab"]) | changes.pop("header", {})
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    tensors = {name: value for name, value in (tensors | changes).items() if value is not None}
    save_file(tensors, path, metadata={"ticketlab": json.dumps(header)})


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"header": {"labels": ["good", "bad"]}}, id="labels in another order"),
        pytest.param({"header": {"labels": [0, 1]}}, id="labels that are not texts"),
        pytest.param({"header": {"head": {"a": 1}}}, id="a head that is not a list"),
        pytest.param({"head/classifier.weight": np.zeros((2, 3), dtype=np.float32)}, id="other values"),
        pytest.param({"head/classifier.bias": np.zeros(2, dtype=np.int32)}, id="another type"),
        pytest.param({"head/classifier.bias": np.zeros((1, 2), dtype=np.float32)}, id="another shape"),
        pytest.param({"head/classifier.bias": None}, id="a tensor less"),
        pytest.param({"head/other.bias": np.zeros(2, dtype=np.float32)}, id="a tensor more"),
    ],
)
def test_a_damaged_classifier_is_detected(changes, with_head, tmp_path):
    with_head.save(tmp_path / "ticket")
    rewrite(tmp_path / "ticket", **changes)
    with pytest.raises(UsageError, match="damaged"):
        Ticket.load(tmp_path / "ticket")


def test_counts_are_by_group(ticket):
    heads = sum(int(mask.sum()) for name, mask in ticket.masks.items() if name.startswith("heads"))
    assert ticket.groups == ("heads", "neurons", "weights")
    assert (ticket.kept("heads"), ticket.total("heads"), ticket.total()) == (heads, 36, 71)
    assert ticket.sparsity("heads") == pytest.approx(1 - heads / 36)
    assert ticket.sparsity("neurons") == 0
    assert [name for name, _, _ in ticket.survival()] == ["heads/0", "heads/2", "heads/10", "neurons/0", "weights/a.0"]
    assert sum(kept for _, kept, _ in ticket.survival()) == ticket.kept()
    with pytest.raises(UsageError, match="masks no layers; it masks heads, neurons, weights"):
        ticket.sparsity("layers")


def write_header(path, ticket, **changes):
    ticket.save(path)
    with safe_open(path, "np") as file:
        header = json.loads(file.metadata()["ticketlab"]) | changes
        packed = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(packed, path, metadata={"ticketlab": json.dumps(header)})


def flip_a_bit(path, ticket):
    ticket.save(path)
    content = bytearray(path.read_bytes())
    content[-2] ^= 16
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda path, _: None, "there is no such file"),
        (lambda path, _: path.mkdir(), "not a folder"),
        (lambda path, _: path.write_text("hello"), "not a ticket, or damaged"),
        (lambda path, _: path.write_bytes(b""), "not a ticket, or damaged"),
        (lambda path, _: save_file({"x": np.zeros(3)}, path), "without ticketlab's header"),
        (lambda path, _: save_file({}, path, metadata={"ticketlab": "{"}), "not JSON"),
        (lambda path, _: save_file({}, path, metadata={"ticketlab": "[]"}), "fields of a ticket are missing"),
        (lambda path, ticket: write_header(path, ticket, format=4), "newer ticketlab"),
        (lambda path, ticket: write_header(path, ticket, structure=None), "fields of a ticket are missing"),
        (lambda path, ticket: write_header(path, ticket, shapes={"heads/0": [10**15]}), "damaged"),
        (lambda path, ticket: write_header(path, ticket, format=True), "fields of a ticket are missing"),
        (lambda path, _: save_file({}, path, metadata={"ticketlab": "[" * 100_000}), "nested too deeply"),
        (lambda path, _: save_file({}, path, metadata={"ticketlab": '{"format": NaN}'}), "not a JSON number"),
        (lambda path, _: save_file({}, path, metadata={"ticketlab": '{"format": ' + "9" * 5000 + "}"}), "not JSON"),
        (
            lambda path, ticket: write_header(path, ticket, shapes={**{n: list(m.shape) for n, m in ticket.masks.items()}, "heads/0": "x"}),
            "damaged",
        ),
        (lambda path, ticket: (ticket.save(path), path.write_bytes(path.read_bytes()[:-3])), "not a ticket, or damaged"),
        (flip_a_bit, "does not match the hash in its header"),
    ],
)
def test_a_file_that_is_not_a_ticket_is_a_one_line_error(ticket, tmp_path, spoil, message):
    path = tmp_path / "ticket"
    spoil(path, ticket)
    with pytest.raises(UsageError, match=message) as caught:
        Ticket.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_ticket_that_cannot_be_written_leaves_nothing(ticket, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        ticket.save(tmp_path / "file" / "ticket")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        ticket.save(tmp_path / "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_masks_must_be_boolean():
    with pytest.raises(UsageError, match=r"`heads/0` is torch.float32, not boolean"):
        Ticket({"heads/0": torch.ones(3)}, "s", "f", "r")


@pytest.mark.parametrize("family", ["bert", "distilbert"])
@pytest.mark.parametrize("groups", [("weights",), ("heads", "neurons")], ids=["unstructured", "structured"])
def test_applying_zeroes_only_removed_weights(tiny, family, groups):
    model, untouched = classifier(tiny[family]), classifier(tiny[family])
    ticket = ticket_for(model, groups, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ticket.apply(model)
    kept = expand(Backbone(untouched), ticket.masks)
    for name, parameter in Backbone(untouched).base.named_parameters():
        assert torch.equal(Backbone(model).parameter(name), parameter.where(kept.get(name, torch.tensor(True)), torch.zeros(())))
    assert torch.equal(model.classifier.weight, untouched.classifier.weight)


def test_a_ticket_with_the_pooler_is_applied_to_it(tiny):
    model = classifier(tiny["bert"])
    backbone = Backbone(model)
    masks = {"weights/pooler.dense.weight": torch.zeros(32, 32, dtype=torch.bool)}
    Ticket(masks, backbone.fingerprint(), "", "").apply(model)
    assert not model.base_model.pooler.dense.weight.any()


def test_another_structure_is_refused_and_other_weights_are_a_warning(tiny, tmp_path):
    model = classifier(tiny["bert"])
    ticket = ticket_for(model)
    with pytest.raises(UsageError, match=r"another structure than this one \(distilbert, 2 layers of 4 heads\)"):
        ticket.apply(classifier(tiny["distilbert"]))
    other = classifier(tiny_model("bert", tmp_path / "other", seed=1))
    with pytest.warns(UserWarning, match="other weights than the model has"):
        ticket.apply(other)
    assert (
        not Backbone(other)
        .weight("weights/encoder.layer.0.output.dense.weight")[~ticket.masks["weights/encoder.layer.0.output.dense.weight"]]
        .any()
    )


def test_overlap_is_computed_per_group():
    one = {"heads/0": torch.tensor([1, 1, 0, 0]).bool(), "neurons/0": torch.tensor([0, 0]).bool()}
    other = {"heads/0": torch.tensor([1, 0, 1, 0]).bool(), "neurons/0": torch.tensor([0, 0]).bool()}
    compared = overlap(one, other)
    assert (compared["heads"].hamming, compared["heads"].jaccard) == (0.5, pytest.approx(1 / 3))
    assert (compared["neurons"].hamming, compared["neurons"].jaccard) == (0, 1)
    with pytest.raises(UsageError, match="mask different units"):
        overlap(one, {"heads/0": one["heads/0"]})


def test_counts_name_each_group_of_units():
    masks = {"heads/0": torch.tensor([True, False]), "neurons/0": torch.tensor([True, True, False])}
    assert Ticket(masks, "s", "f", "r").counts() == "1 of 2 heads, 2 of 3 neurons"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nonsense": torch.zeros(2)}, "does not fit this model"),
        ({"classifier.weight": torch.zeros(7, 3)}, "does not fit this model"),
        ({"classifier.weight": None}, "does not fit this model"),
        ({"classifier.weight": torch.full((2, 32), float("nan"))}, "has values that are not finite numbers"),
        ({"classifier.weight": torch.zeros(2, 32, dtype=torch.int64)}, "has values that are not finite numbers"),
    ],
    ids=["a name", "a shape", "one less", "NaN", "integers"],
)
def test_a_classifier_that_does_not_fit_is_refused(tiny, changes, message):
    model = classifier(tiny["bert"])
    head = {name: value for name, value in (head_of(model) | changes).items() if value is not None}
    with pytest.raises(UsageError, match=message):
        put_head(model, head)


def test_a_mask_that_fits_no_unit_is_refused(tiny):
    model = classifier(tiny["bert"])
    for masks in ({"heads/99": torch.ones(4) > 0}, {"heads/0": torch.ones(3) > 0}, {"heads/x": torch.ones(4) > 0}):
        with pytest.raises(UsageError, match="fits nothing in the model"):
            Ticket(masks, Backbone(model).fingerprint(), "", "").apply(model)


@pytest.mark.parametrize(
    ("name", "provenance", "heads"),
    [
        ("heads/0", {}, 3),
        ("weights/query", {}, None),
        ("weights/query", {"heads_per_layer": 12}, 12),
        ("weights/query", {"heads_per_layer": "12"}, None),
    ],
    ids=["structured", "earlier", "recorded", "damaged"],
)
def test_the_number_of_heads_of_a_layer_is_that_of_the_masks_or_the_recorded_one(name, provenance, heads, tmp_path):
    ticket = Ticket({name: torch.ones(3, dtype=torch.bool)}, "structure", "found", "rewind", provenance)
    ticket.save(tmp_path / "ticket.safetensors")
    assert Ticket.load(tmp_path / "ticket.safetensors").heads_per_layer == heads
