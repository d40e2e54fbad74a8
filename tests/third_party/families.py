"""Model families as an outside author would add them: two that work, one that cannot be shrunk, and some with mistakes."""

from __future__ import annotations

from typing import ClassVar

from attrs import evolve, frozen

from ticketlab.plugin import Adapter, Slices, hookimpl


@frozen
class Llama(Adapter):
    """LLaMA with as many key heads as query heads. The gates of the feed-forward network are a matrix of their own."""

    name: ClassVar[str] = "llama"
    summary: ClassVar[str] = "LLaMA"
    model_types: ClassVar[tuple[str, ...]] = ("llama",)
    layers: ClassVar[str] = "layers"
    attention: ClassVar[str] = "self_attn"
    query: ClassVar[str] = "self_attn.q_proj"
    key: ClassVar[str] = "self_attn.k_proj"
    value: ClassVar[str] = "self_attn.v_proj"
    attention_output: ClassVar[str] = "self_attn.o_proj"
    ffn_in: ClassVar[str] = "mlp.up_proj"
    ffn_gate: ClassVar[str] = "mlp.gate_proj"
    ffn_out: ClassVar[str] = "mlp.down_proj"
    decoder: ClassVar[bool] = True


@frozen
class NeoX(Adapter):
    """GPT-NeoX. Its fused matrix has query, key and value of the first head, then those of the second, and so on."""

    name: ClassVar[str] = "neox"
    summary: ClassVar[str] = "GPT-NeoX"
    model_types: ClassVar[tuple[str, ...]] = ("gpt_neox",)
    layers: ClassVar[str] = "layers"
    attention: ClassVar[str] = "attention"
    query: ClassVar[str] = "attention.query_key_value"
    key: ClassVar[str] = "attention.query_key_value"
    value: ClassVar[str] = "attention.query_key_value"
    attention_output: ClassVar[str] = "attention.dense"
    ffn_in: ClassVar[str] = "mlp.dense_h_to_4h"
    ffn_out: ClassVar[str] = "mlp.dense_4h_to_h"
    decoder: ClassVar[bool] = True

    def head_slices(self, head_dim: int) -> tuple[Slices, ...]:
        """Return the layout by head."""
        fused, output = Adapter.head_slices(self, head_dim)
        return (evolve(fused, width=3 * head_dim, blocks=1), output)


@frozen
class Megatron(Adapter):
    """Megatron-BERT without what shrinking needs: the attention module is not named."""

    name: ClassVar[str] = "megatron"
    summary: ClassVar[str] = "Megatron-BERT"
    model_types: ClassVar[tuple[str, ...]] = ("megatron-bert",)
    layers: ClassVar[str] = "encoder.layer"
    query: ClassVar[str] = "attention.self.query"
    key: ClassVar[str] = "attention.self.key"
    value: ClassVar[str] = "attention.self.value"
    attention_output: ClassVar[str] = "attention.output.dense"
    ffn_in: ClassVar[str] = "intermediate.dense"
    ffn_out: ClassVar[str] = "output.dense"


@frozen
class WrongLayout(NeoX):
    """GPT-NeoX as if all queries came first: shapes fit, and numbers do not."""

    def head_slices(self, head_dim: int) -> tuple[Slices, ...]:
        """Return the layout of most other families."""
        return Adapter.head_slices(self, head_dim)


@frozen
class WrongAttribute(Megatron):
    """The width of the heads is not where the adapter says."""

    attention: ClassVar[str] = "attention.self"
    attention_width: ClassVar[str] = "dim"


@frozen
class WrongModule(Megatron):
    """There is no such attention module."""

    attention: ClassVar[str] = "attention.selff"


@frozen
class WrongSize(Megatron):
    """The config has another entry for the number of neurons."""

    attention: ClassVar[str] = "attention.self"
    neurons: ClassVar[str] = "ffn_size"


@frozen
class ForgottenGate(Llama):
    """The matrix of the gates is not named."""

    ffn_gate: ClassVar[str] = ""


@hookimpl
def ticketlab_backbones() -> list[type[Adapter]]:
    """The families that this plugin adds."""
    return [Llama, NeoX, Megatron]
