"""Small models whose every parameter matters: none is left at 0 or 1."""

import random
from dataclasses import replace
from typing import Any

import torch

from regard.convert.parcel import Parcel
from regard.decoding.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Specials
from regard.decoding.search import decode
from regard.decoding.stepper import ModelStepper
from regard.models.transformer import Transformer, TransformerConfig
from regard.shapes import Tensor
from regard.text.config import TextConfig
from regard.text.pair import TokeniserPair
from regard.text.train import train_tokenisers

FRENCH = "Jane visite l'Afrique en septembre, le chat était assis sur un tapis !"
ENGLISH = "Jane visits Africa in September; the cat sat on a mat?"

STEPS = 300
BEAM = DecodingConfig(beam=4, max_ratio=0.0, max_extra=40, early_exit=True)


def sentences(words: str, count: int, seed: int = 0) -> list[str]:
    """Sentences of random words and random lengths."""
    chosen = random.Random(seed)
    return [" ".join(chosen.choices(words.split(), k=chosen.randint(1, 12))) for _ in range(count)]


def learned_tokenisers(**changes: Any) -> TokeniserPair:
    """BPE of the two languages, joint unless told otherwise."""
    config = TextConfig(**{"vocab_size": 310, **changes})
    return train_tokenisers(config, sentences(FRENCH, 50), sentences(ENGLISH, 50))


def random_parcel(tokenisers: TokeniserPair, **changes: Any) -> Parcel:
    """A model of random numbers."""
    shape: dict[str, Any] = {
        "d_model": 24,
        "heads": 3,
        "d_ff": 40,
        "encoder_layers": 3,
        "decoder_layers": 2,
        "max_positions": 128,
    }
    config = TransformerConfig(**{**shape, **changes})
    generator = torch.Generator().manual_seed(1)
    model = Transformer(config, len(tokenisers.source), len(tokenisers.target))
    tensors = {
        name: torch.randn(p.shape, generator=generator) * 0.3
        for name, p in model.named_parameters()
    }
    for name in tensors:
        if name.endswith("norm.weight"):
            tensors[name] += 1
    return Parcel(
        model=config,
        tensors=tensors,
        tokenisers=tokenisers,
        source_language="fr",
        target_language="en",
    )


def learned_parcel(tokenisers: TokeniserPair, **changes: Any) -> Parcel:
    """A model that has half learned to copy a few pieces: its searches are not easy, but end."""
    parcel = random_parcel(tokenisers, encoder_layers=1, decoder_layers=1, dropout=0.0, **changes)
    torch.manual_seed(2)
    target = tokenisers.target
    model = Transformer(parcel.model, len(tokenisers.source), len(target)).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    # Down to nothing: where it ends must not hang on the last bits of a sum.
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, STEPS)
    ones = torch.ones(32, 1, dtype=torch.long)
    for step in range(STEPS):
        pieces = random_copies(32, length=1 + step % 5, seed=step)
        source = torch.cat([pieces, ones * target.eos], 1)
        fed = torch.cat([ones * target.bos, pieces], 1)
        real = torch.ones_like(source, dtype=torch.bool)
        logits = model(source, real, fed, real)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), source.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    tensors = {name: p.detach() for name, p in model.named_parameters()}
    return replace(parcel, tensors=tensors, decoding=BEAM)


def random_copies(count: int, length: int, seed: int) -> Tensor:
    """What `learned_parcel` copies: sequences of twenty pieces."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(260, 280, (count, length), generator=generator)


def model_of(parcel: Parcel) -> Transformer:
    """The model in a parcel, ready to translate."""
    sizes = len(parcel.tokenisers.source), len(parcel.tokenisers.target)
    model = Transformer(parcel.model, *sizes)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(parcel.tensors[name])
    return model.eval()


def random_ids(shape: tuple[int, int], vocabulary: int, reserved: set[int], seed: int) -> Tensor:
    """Tokens that are none of the reserved ones."""
    free = torch.tensor([id for id in range(vocabulary) if id not in reserved])
    generator = torch.Generator().manual_seed(seed)
    return free[torch.randint(len(free), shape, generator=generator)]


@torch.inference_mode()
def logits_of(parcel: Parcel, source: Tensor, target: Tensor) -> Tensor:
    """Regard's logits, nothing padded."""
    masks = torch.ones_like(source, dtype=torch.bool), torch.ones_like(target, dtype=torch.bool)
    logits: Tensor = model_of(parcel)(source, masks[0], target, masks[1])
    return logits


def best_of(parcel: Parcel, sources: list[list[int]]) -> list[Hypothesis]:
    """The best hypothesis of Regard's beam for each source."""
    target = parcel.tokenisers.target
    specials = Specials(target.pad, target.bos, target.eos)
    found = decode(ModelStepper(model_of(parcel)), sources, specials, BEAM)
    return [hypotheses[0] for hypotheses in found]
