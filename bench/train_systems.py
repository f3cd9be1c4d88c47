"""Four ways to train the same Transformer on the same batches."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from regard.data.batching import Batch, Batches
from regard.machine import tune_allocator
from regard.models.transformer import PRESETS, Transformer, TransformerConfig
from regard.nn.position import sinusoids
from regard.plain import plain
from regard.train.config import TrainConfig
from regard.train.tensors import TensorBatch
from regard.train.trainer import Trainer
from regard.train.validation import Validator

Step = Callable[[Batch], float]

VOCABULARY = {"tiny": 8000, "small": 8000, "base": 32_000}
CONFIGS: dict[str, TransformerConfig] = {name: PRESETS[name] for name in VOCABULARY}
BATCH_TOKENS = 4096
CORPUS = 100_000
PAD = 0
SMOOTHING = 0.1
LEARNING_RATE = 1e-4


def make_batches(vocabulary: int, number: int, seed: int = 1) -> list[Batch]:
    """Batches of 4,096 target tokens, of sentences about as long as those of news.

    Lengths are log-normal with a median of 27, source and target a fifth apart; ids follow
    Zipf's law. Of a corpus sorted by both lengths, so that one token in twenty or fewer is
    padding, as in Regard's own batches.
    """
    random = np.random.default_rng(seed)
    target = np.clip(np.exp(random.normal(np.log(27), 0.5, CORPUS)), 3, 120).astype(int)
    source = np.clip(target * np.exp(random.normal(0, 0.2, CORPUS)), 3, 120).astype(int)
    order = np.lexsort((source, target))
    batches = []
    for begin in random.choice(CORPUS - BATCH_TOKENS, number, replace=False):
        size = BATCH_TOKENS // target[order[begin]]
        while size * target[order[begin + size - 1]] > BATCH_TOKENS:
            size -= 1
        rows = order[begin : begin + size]
        batches.append(_batch(random, vocabulary, source[rows], target[rows], rows))
    return batches


def _batch(
    random: np.random.Generator, vocabulary: int, source: Any, target: Any, indices: Any
) -> Batch:
    def ids(mask: Any) -> Any:
        drawn = 4 + random.zipf(1.3, mask.shape) % (vocabulary - 4)
        return np.where(mask, drawn, PAD)

    source_mask = np.arange(source.max()) < source[:, None]
    target_mask = np.arange(target.max()) < target[:, None]
    return Batch(
        source=ids(source_mask),
        source_mask=source_mask,
        target_in=ids(target_mask),
        target_out=ids(target_mask),
        target_mask=target_mask,
        indices=indices,
    )


def regard_step(config: TransformerConfig, vocabulary: int) -> Step:
    """Regard as `regard train` runs it."""
    tune_allocator()
    return step_of_trainer(Transformer(config, vocabulary, vocabulary))


def regard_plain_step(config: TransformerConfig, vocabulary: int) -> Step:
    """Regard with every fast path off."""
    with plain():
        step = step_of_trainer(Transformer(config, vocabulary, vocabulary))

    def plain_step(batch: Batch) -> float:
        with plain():
            return step(batch)

    return plain_step


def step_of_trainer(model: Transformer) -> Step:
    """A step of Regard's trainer, which is handed its batches and needs no data of its own."""
    trainer = Trainer(
        model,
        Batches.__new__(Batches),
        Validator.__new__(Validator),
        TrainConfig(learning_rate=LEARNING_RATE, warmup=0, schedule="constant"),
        Path(),
    )
    return lambda batch: trainer.step([batch]).loss


def transformers_step(config: TransformerConfig, vocabulary: int) -> Step:
    """Hugging Face's MarianMTModel in a plain PyTorch loop."""
    from transformers import MarianConfig, MarianMTModel

    model = MarianMTModel(
        MarianConfig(
            vocab_size=vocabulary,
            d_model=config.d_model,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            encoder_ffn_dim=config.d_ff,
            decoder_ffn_dim=config.d_ff,
            activation_function="relu",
            dropout=config.dropout,
            attention_dropout=0.0,
            activation_dropout=0.0,
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            tie_word_embeddings=True,
            max_position_embeddings=config.max_positions,
            pad_token_id=PAD,
            eos_token_id=3,
            bos_token_id=2,
            decoder_start_token_id=2,
            forced_eos_token_id=None,
            use_cache=False,
        )
    ).train()

    def logits(batch: TensorBatch) -> torch.Tensor:
        output = model(
            input_ids=batch.source,
            attention_mask=batch.source_mask.long(),
            decoder_input_ids=batch.target_in,
            decoder_attention_mask=batch.target_mask.long(),
        )
        scores: torch.Tensor = output.logits
        return scores

    return _loop(model, logits)


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with what it leaves to its users: embeddings, positions, output."""

    table: torch.Tensor

    def __init__(self, config: TransformerConfig, vocabulary: int) -> None:
        super().__init__()
        self.scale = config.d_model**0.5
        self.embedding = nn.Embedding(vocabulary, config.d_model)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        self.register_buffer("table", sinusoids(config.max_positions, config.d_model))
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            config.d_model,
            config.heads,
            config.encoder_layers,
            config.decoder_layers,
            config.d_ff,
            config.dropout,
            batch_first=True,
        )
        for module in self.transformer.modules():
            # Neither the paper nor Marian drops attention weights or hidden units.
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0

    def forward(self, batch: TensorBatch) -> torch.Tensor:
        length = batch.target_in.shape[1]
        hidden = self.transformer(
            self._embed(batch.source),
            self._embed(batch.target_in),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.bool),
            src_key_padding_mask=~batch.source_mask,
            memory_key_padding_mask=~batch.source_mask,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.embedding.weight)

    def _embed(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens) * self.scale + self.table[: tokens.shape[1]]
        embedded: torch.Tensor = self.dropout(x)
        return embedded


def torch_step(config: TransformerConfig, vocabulary: int) -> Step:
    """torch.nn.Transformer in a plain PyTorch loop."""
    model = TorchTransformer(config, vocabulary).train()
    return _loop(model, model)


def _loop(model: nn.Module, logits: Callable[[TensorBatch], torch.Tensor]) -> Step:
    """The loop of every tutorial, with the fused optimiser that they could have asked for."""
    optimiser = torch.optim.Adam(
        model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), eps=1e-9, fused=True
    )

    def step(batch: Batch) -> float:
        tensors = TensorBatch.of(batch, "cpu")
        optimiser.zero_grad()
        scores = logits(tensors)
        loss = F.cross_entropy(
            scores.flatten(0, 1),
            tensors.target_out.flatten(),
            ignore_index=PAD,
            label_smoothing=SMOOTHING,
        )
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        return float(loss.detach())

    return step


SYSTEMS: dict[str, Callable[[TransformerConfig, int], Step]] = {
    "regard": regard_step,
    "regard-plain": regard_plain_step,
    "torch": torch_step,
    "transformers": transformers_step,
}
