import pytest
import torch

from ticketlab.core.errors import UsageError
from ticketlab.tickets.survival import Part, survival
from ticketlab.tickets.ticket import Ticket

NAMES = {
    "bert": ("encoder.layer.0.", "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
             "intermediate.dense", "output.dense"),
    "distilbert": ("transformer.layer.0.", "attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "ffn.lin1",
                   "ffn.lin2"),
    "deberta-v2": ("encoder.layer.0.", "attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj",
                   "attention.output.dense", "intermediate.dense", "output.dense"),
}  # fmt: skip


def ticket_of(masks):
    return Ticket(masks, structure="s", found_on="f", rewind_to="r")


def layer_of_weights(family="bert"):
    """One layer of width 4 with two heads and six neurons, in which every matrix keeps everything but some weights of its own."""
    prefix, query, key, value, output, ffn_in, ffn_out = NAMES[family]
    shapes = {query: (4, 4), key: (4, 4), value: (4, 4), output: (4, 4), ffn_in: (6, 4), ffn_out: (4, 6)}
    masks = {f"weights/{prefix}{name}.weight": torch.ones(shape, dtype=torch.bool) for name, shape in shapes.items()}
    masks[f"weights/{prefix}{query}.weight"][0] = False  # a row of the first head: 4 weights
    masks[f"weights/{prefix}{value}.weight"][3, :2] = False  # half a row of the second head: 2 weights
    masks[f"weights/{prefix}{output}.weight"][:, 2] = False  # a column of the second head: 4 weights
    masks[f"weights/{prefix}{ffn_in}.weight"][:, 0] = False  # 6 weights
    return masks


@pytest.mark.parametrize("family", NAMES)
def test_a_head_has_its_rows_of_query_key_and_value_and_its_columns_of_the_output(family):
    # A head has 2 rows of 4 in three matrices and 2 columns of 4 in one: 32 weights. The feed-forward network has 48.
    assert survival(ticket_of(layer_of_weights(family)), heads=2) == [
        Part(0, "head", 0, 28, 32),
        Part(0, "head", 1, 26, 32),
        Part(0, "feed-forward", None, 42, 48),
    ]


def test_heads_of_fused_and_transposed_matrices():
    # GPT-2, width 4, two heads of width 2, three neurons. c_attn is 4 x 12 in blocks of queries, keys and values.
    shapes = {"attn.c_attn": (4, 12), "attn.c_proj": (4, 4), "mlp.c_fc": (4, 3), "mlp.c_proj": (3, 4)}
    masks = {f"weights/h.{layer}.{name}.weight": torch.ones(shape, dtype=torch.bool) for layer in (0, 1) for name, shape in shapes.items()}
    masks["weights/h.1.attn.c_attn.weight"][:, 6] = False  # a key of the second head: 4 weights
    masks["weights/h.1.attn.c_attn.weight"][0, 0:2] = False  # queries of the first head: 2 weights
    masks["weights/h.1.attn.c_proj.weight"][3] = False  # an input from the second head: 4 weights
    masks["weights/h.0.mlp.c_proj.weight"][2, 0] = False
    assert survival(ticket_of(masks), heads=2) == [
        Part(0, "head", 0, 32, 32), Part(0, "head", 1, 32, 32), Part(0, "feed-forward", None, 23, 24),
        Part(1, "head", 0, 30, 32), Part(1, "head", 1, 24, 32), Part(1, "feed-forward", None, 24, 24),
    ]  # fmt: skip


def test_layers_of_albert_are_counted_over_groups():
    names = ("attention.query", "attention.key", "attention.value", "attention.dense", "ffn", "ffn_output")
    path = "weights/encoder.albert_layer_groups.{}.albert_layers.{}.{}.weight"
    masks = {path.format(group, inner, name): torch.ones(2, 2, dtype=torch.bool) for group in (0, 1) for inner in (0, 1) for name in names}
    masks[path.format(1, 0, "ffn")][0, 0] = False
    assert [part.layer for part in survival(ticket_of(masks)) if part.share < 1] == [2]


def test_without_the_number_of_heads_the_attention_of_a_layer_is_one_part():
    parts = survival(ticket_of(layer_of_weights()))
    assert parts == [Part(0, "attention", None, 54, 64), Part(0, "feed-forward", None, 42, 48)]
    assert parts[0].share == 54 / 64


def test_a_structured_ticket_keeps_or_removes_each_head_and_some_neurons():
    masks = {
        "heads/0": torch.tensor([True, False]),
        "neurons/0": torch.tensor([True, True, False, False]),
        "heads/1": torch.tensor([True, True]),
        "neurons/1": torch.tensor([True, False, False, False]),
    }
    assert survival(ticket_of(masks)) == [
        Part(0, "head", 0, 1, 1), Part(0, "head", 1, 0, 1), Part(0, "neurons", None, 2, 4),
        Part(1, "head", 0, 1, 1), Part(1, "head", 1, 1, 1), Part(1, "neurons", None, 1, 4),
    ]  # fmt: skip


def test_the_pooler_belongs_to_no_layer():
    masks = layer_of_weights() | {"weights/pooler.dense.weight": torch.zeros(4, 4, dtype=torch.bool)}
    assert survival(ticket_of(masks)) == survival(ticket_of(layer_of_weights()))


@pytest.mark.parametrize(
    ("masks", "heads", "message"),
    [
        pytest.param(layer_of_weights(), 3, "the 4 rows of a query matrix cannot be divided into 3 heads", id="heads"),
        pytest.param({"weights/a.weight": torch.ones(2, 2, dtype=torch.bool)}, 2, "no supported model family has", id="family"),
    ],
)
def test_masks_that_are_not_those_of_a_model_are_refused(masks, heads, message):
    with pytest.raises(UsageError, match=message):
        survival(ticket_of(masks), heads)
