"""What a search is asked: a batch of sources, and what is fixed about their targets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from regard.shapes import Bool, Int, Tensor


@dataclass(frozen=True, slots=True)
class Specials:
    """The token ids that a search treats apart."""

    pad: int
    bos: int
    eos: int


def always(number: int) -> bool:
    """Somebody waits for every sentence."""
    return True


@dataclass(frozen=True, slots=True)
class Request:
    """A batch of sentences to decode together.

    Attributes:
        source: tokens with the end token, right-padded.
        source_mask: True at real tokens.
        max_lengths: the most steps each sentence may take.
        prefixes: tokens each target must begin with; empty for a free one.
        numbers: which sentence of the whole job each is; sampling draws by it, so that a
            sample does not depend on the batch.
        is_wanted: whether anybody still waits for a sentence, given its number. One that nobody
            waits for ends at the next step, so that the others have the machine to themselves.
    """

    source: Int[Tensor, "B S"]
    source_mask: Bool[Tensor, "B S"]
    max_lengths: tuple[int, ...]
    prefixes: tuple[tuple[int, ...], ...]
    numbers: tuple[int, ...]
    is_wanted: Callable[[int], bool] = always

    @classmethod
    def pad(
        cls,
        sources: Sequence[Sequence[int]],
        max_lengths: Sequence[int],
        prefixes: Sequence[Sequence[int]],
        numbers: Sequence[int],
        specials: Specials,
        device: torch.device | str = "cpu",
        is_wanted: Callable[[int], bool] = always,
    ) -> "Request":
        """Pad sources to one length; each gets its end token."""
        width = max(map(len, sources)) + 1
        source = torch.full((len(sources), width), specials.pad)
        for row, tokens in enumerate(sources):
            source[row, : len(tokens) + 1] = torch.tensor([*tokens, specials.eos])
        lengths = torch.tensor([len(tokens) + 1 for tokens in sources])
        mask = torch.arange(width) < lengths.unsqueeze(1)
        return cls(
            source.to(device),
            mask.to(device),
            # A forced prefix may be longer than what the source would allow.
            tuple(max(n, len(p) + 1) for n, p in zip(max_lengths, prefixes, strict=True)),
            tuple(tuple(p) for p in prefixes),
            tuple(numbers),
            is_wanted,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Travels to a worker as plain arrays."""
        arrays = self.source.cpu().numpy(), self.source_mask.cpu().numpy()
        return _arrived, (*arrays, self.max_lengths, self.prefixes, self.numbers)

    def allowed(
        self,
        log_probs: torch.Tensor,
        sentences: Sequence[int],
        step: int,
        specials: Specials,
    ) -> torch.Tensor:
        """Rule out what may not come next: log-probability −∞. Changes `log_probs` in place.

        Padding and the start token never come; a forced prefix leaves one token; at the last
        step a sentence may take, and when nobody wants it any more, only the end is left.

        Args:
            log_probs: B N V, the rows of each sentence.
            sentences: which sentence of this request each of the B is.
            step: which token is chosen next, from 0.
            specials: the tokens treated apart.
        """
        log_probs[..., specials.pad] = -torch.inf
        log_probs[..., specials.bos] = -torch.inf
        is_free = max(map(len, self.prefixes)) <= step < min(self.max_lengths) - 1
        if is_free and self.is_wanted is always:
            return log_probs
        forced: dict[int, int] = {}  # of the B, those with one token left
        for i, sentence in enumerate(sentences):
            prefix = self.prefixes[sentence]
            if not self.is_wanted(self.numbers[sentence]):
                forced[i] = specials.eos
            elif step < len(prefix):
                forced[i] = prefix[step]
            elif step == self.max_lengths[sentence] - 1:
                forced[i] = specials.eos
        if forced:
            places = torch.tensor(list(forced), device=log_probs.device)
            tokens = torch.tensor(list(forced.values()), device=log_probs.device)
            kept = log_probs[places, :, tokens]
            log_probs[places] = -torch.inf
            log_probs[places, :, tokens] = kept
        return log_probs


def _arrived(source: Any, source_mask: Any, *others: Any) -> Request:
    return Request(torch.from_numpy(source), torch.from_numpy(source_mask), *others)
