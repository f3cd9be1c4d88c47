"""What a parameter is called here and in Hugging Face's Marian."""

from typing import Literal

_ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
_FEED_FORWARD = {"feed_forward.inner": "fc1", "feed_forward.outer": "fc2"}

_ENCODER_BLOCK = {
    **{f"self_attention.{ours}": f"self_attn.{theirs}" for ours, theirs in _ATTENTION.items()},
    "residuals.0.norm": "self_attn_layer_norm",
    **_FEED_FORWARD,
    "residuals.1.norm": "final_layer_norm",
}
_DECODER_BLOCK = {
    **{f"self_attention.{ours}": f"self_attn.{theirs}" for ours, theirs in _ATTENTION.items()},
    "residuals.0.norm": "self_attn_layer_norm",
    **{f"cross_attention.{ours}": f"encoder_attn.{theirs}" for ours, theirs in _ATTENTION.items()},
    "residuals.1.norm": "encoder_attn_layer_norm",
    **_FEED_FORWARD,
    "residuals.2.norm": "final_layer_norm",
}

SHARED = "model.shared.weight"
SOURCE = "model.encoder.embed_tokens.weight"
TARGET = "model.decoder.embed_tokens.weight"
OUTPUT = "lm_head.weight"
EMBEDDINGS = (SHARED, SOURCE, TARGET, OUTPUT)
BIAS = "final_logits_bias"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")


def layer_names(encoder_layers: int, decoder_layers: int) -> dict[str, str]:
    """Regard's name → Marian's, for every parameter of the layers."""
    return {
        f"{half}.layers.{i}.{ours}.{kind}": f"model.{half}.layers.{i}.{theirs}.{kind}"
        for half, num_layers, block in (
            ("encoder", encoder_layers, _ENCODER_BLOCK),
            ("decoder", decoder_layers, _DECODER_BLOCK),
        )
        for i in range(num_layers)
        for ours, theirs in block.items()
        for kind in ("weight", "bias")
    }


def embedding_names(share: Literal["all", "target", "none"]) -> dict[str, str]:
    """Regard's name → Marian's, for the matrices that have a row a token."""
    if share == "all":
        return {"source.embedding.weight": SHARED}
    both = {"source.embedding.weight": SOURCE, "target.embedding.weight": TARGET}
    return both if share == "target" else {**both, "output.weight": OUTPUT}


def candidates(name: str, *, is_shared: bool, is_tied: bool) -> tuple[str, ...]:
    """The names under which a file may hold one of ours that is not a layer's, best first.

    Shared matrices are saved once, under any of their names, or several times.
    """
    if name == "output.bias":
        return (BIAS,)
    if is_shared:
        return EMBEDDINGS
    if name == "source.embedding.weight":
        return (SOURCE,)
    if is_tied:
        return (TARGET, OUTPUT)
    return (TARGET,) if name == "target.embedding.weight" else (OUTPUT,)
