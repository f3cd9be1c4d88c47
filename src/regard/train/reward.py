"""Learning from a reward: sentence GLEU of what the model itself writes."""

from collections.abc import Sequence
from typing import Any

import torch

from regard.data.batching import Batch
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Request, Specials
from regard.decoding.sample import sample
from regard.decoding.stepper import ModelStepper
from regard.metrics.gleu import sentence_gleu
from regard.models.interface import Seq2Seq
from regard.nn.dropout import own_generator
from regard.shapes import Bool, Float, Int, Tensor
from regard.train.tensors import TensorBatch


def reward_loss(
    model: Seq2Seq[Any], batch: Batch, specials: Specials, num_samples: int
) -> Float[Tensor, ""]:
    """A loss whose gradient estimates that of minus the expected reward, summed over sentences.

        O_RL(θ) = Σ_i Σ_Y P_θ(Y | X_i) r(Y, Y_i*)                          (equation 8)
        ∇ O_RL  ≈ Σ_i 1/(M−1) Σ_m (r_m − r̄) ∇ log P_θ(Y_m | X_i),   Y_m ~ P_θ(· | X_i)

    Wu et al. 2016, section 5, with r the sentence GLEU (`metrics.gleu`) in pieces. The mean
    reward of a sentence's own samples is what each is measured by, as there; dividing by M − 1
    makes up for that and keeps the estimate unbiased. The paper adds α times the likelihood,
    equation 9; `train.reward` is 1/α, so that 0 is learning from references alone.

    Args:
        model: in evaluation mode, so that what is sampled is what is scored.
        batch: sources and references.
        specials: the target's tokens that are treated apart.
        num_samples: M, translations drawn of each source; at least 2.
    """
    tensors = TensorBatch.of(batch, model.output.weight.device)
    references = [
        ids[is_real][:-1].tolist()
        for ids, is_real in zip(tensors.target_out, tensors.target_mask, strict=True)
    ]
    # A translation twice as long as its reference earns little, however it goes on.
    limits = [2 * len(reference) + 2 for reference in references]
    draws = _draw(model, tensors, limits, specials, num_samples)
    rewards = torch.tensor(
        [
            [sentence_gleu(hypothesis.tokens, reference) for hypothesis in drawn]
            for drawn, reference in zip(draws, references, strict=True)
        ]
    )  # B M
    advantage = (rewards - rewards.mean(1, keepdim=True)) / (num_samples - 1)
    log_probs = _log_probs(model, tensors, draws, limits, specials)
    return -(advantage.to(log_probs) * log_probs).sum()


@torch.no_grad()
def _draw(
    model: Seq2Seq[Any],
    tensors: TensorBatch,
    limits: Sequence[int],
    specials: Specials,
    num_samples: int,
) -> list[list[Hypothesis]]:
    """M translations of each source, from random numbers that a resumed training repeats."""
    # Where a batch is cut among cores, each part has a generator of its own.
    seed = int(torch.randint(2**62, (), generator=own_generator()))
    rows = torch.arange(len(limits), device=tensors.source.device).repeat_interleave(num_samples)
    request = Request(
        tensors.source[rows],
        tensors.source_mask[rows],
        max_lengths=tuple(limits[row] for row in rows.tolist()),
        prefixes=((),) * len(rows),
        numbers=tuple(range(len(rows))),
    )
    drawn = sample(ModelStepper(model), request, specials, seed=seed)
    return [drawn[row : row + num_samples] for row in range(0, len(drawn), num_samples)]


def _log_probs(
    model: Seq2Seq[Any],
    tensors: TensorBatch,
    draws: Sequence[Sequence[Hypothesis]],
    limits: Sequence[int],
    specials: Specials,
) -> Float[Tensor, "B M"]:
    """Log P of every sample, teacher-forced, the source being read once."""
    num_samples = len(draws[0])
    flat = [hypothesis for drawn in draws for hypothesis in drawn]
    device = tensors.source.device
    target_in, target_out, mask = (x.to(device) for x in _as_targets(flat, specials))
    # An end that came because a sample had grown too long was not drawn.
    for row, hypothesis in enumerate(flat):
        if len(hypothesis.log_probs) == limits[row // num_samples]:
            mask[row, len(hypothesis.tokens)] = False
    memory = model.encode(tensors.source, tensors.source_mask)
    rows = torch.arange(len(draws), device=device).repeat_interleave(num_samples)
    hidden = model.decode(memory.select(rows), target_in, mask)
    # Only what is real goes through the widest layer.
    logits: Tensor = model.output(hidden[mask])  # P V
    never = torch.tensor([specials.pad, specials.bos], device=device)
    log_probs = logits.index_fill(-1, never, -torch.inf).log_softmax(-1)
    said = log_probs.gather(-1, target_out[mask].unsqueeze(-1)).squeeze(-1)  # P
    return said.new_zeros(mask.shape).masked_scatter(mask, said).sum(1).view(-1, num_samples)


def _as_targets(
    hypotheses: Sequence[Hypothesis], specials: Specials
) -> tuple[Int[Tensor, "R T"], Int[Tensor, "R T"], Bool[Tensor, "R T"]]:
    """What the decoder reads, what it should say, and which positions are real."""
    width = max(len(h.tokens) for h in hypotheses) + 1
    # The end token fills up: the first of them is real.
    target_out = torch.full((len(hypotheses), width), specials.eos)
    for row, hypothesis in enumerate(hypotheses):
        target_out[row, : len(hypothesis.tokens)] = torch.tensor(hypothesis.tokens)
    lengths = torch.tensor([len(h.tokens) + 1 for h in hypotheses])
    target_in = torch.cat(
        [torch.full((len(hypotheses), 1), specials.bos), target_out[:, :-1]], dim=1
    )
    return target_in, target_out, torch.arange(width) < lengths.unsqueeze(1)
