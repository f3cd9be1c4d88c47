"""A lexical shortlist: of the vocabulary, only what could translate a sentence's own words.

The output layer is the largest matrix of a small model, and most of its rows are words that have
nothing to do with the sentence.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from regard.align.bitext import NULL
from regard.align.lexicon import Lexicon
from regard.decoding.config import DecodingConfig
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.request import Request, Specials
from regard.decoding.search import decode_batch
from regard.decoding.stepper import Ensemble, ModelStepper, Stepper
from regard.errors import ConfigError, ModelFileError
from regard.nn.product import Product, product_of
from regard.safetensors_header import read_header
from regard.shapes import Bool, Float, Int, Tensor
from regard.text.pair import TokeniserPair

FINGERPRINT = "tokenisers"


@dataclass(frozen=True, slots=True)
class Shortlist:
    """What each source token may become.

    Jean et al. 2015, "On Using Very Large Target Vocabulary for Neural Machine Translation",
    section 3.3: the most frequent target words, and for each source word its likeliest
    translations by a statistical aligner.

    Attributes:
        frequent: target tokens that every sentence may use.
        begins: the candidates of source token s are those from begins[s] to begins[s + 1].
        candidates: target tokens.
        fingerprint: of the tokenisers whose tokens these are.
    """

    frequent: Int64[np.ndarray, " F"]
    begins: Int64[np.ndarray, " V1"]
    candidates: Int64[np.ndarray, " P"]
    fingerprint: str

    @classmethod
    def learned(
        cls,
        lexicon: Lexicon,
        targets: Iterable[Sequence[int]],
        tokenisers: TokeniserPair,
        *,
        best: int,
        frequent: int,
    ) -> "Shortlist":
        """From a lexicon whose words are the numbers of tokens.

        Args:
            lexicon: p(target token | source token).
            targets: what to count the frequent tokens in.
            tokenisers: whose tokens they are.
            best: candidates of a source token.
            frequent: target tokens that every sentence may use, what translates nothing apart.
        """
        own = [
            [int(token) for token, _ in lexicon.translations(str(source), best)]
            for source in range(len(tokenisers.source))
        ]
        counts = Counter(token for target in targets for token in target)
        every = [token for token, _ in counts.most_common(frequent)]
        every += [int(token) for token, _ in lexicon.translations(NULL, best)]
        return cls(
            np.unique(np.array(every, np.int64)),
            np.cumsum([0, *map(len, own)], dtype=np.int64),
            np.array([token for tokens in own for token in tokens], np.int64),
            tokenisers.fingerprint(),
        )

    def of(self, source: Sequence[int]) -> Int64[np.ndarray, " n"]:
        """The target tokens of a sentence, ascending; they depend on nothing but the sentence."""
        own = [self.candidates[self.begins[s] : self.begins[s + 1]] for s in set(source)]
        return np.unique(np.concatenate([self.frequent, *own]))

    def save(self, path: Path) -> None:
        """Write a safetensors file.

        Raises:
            ModelFileError: it cannot be written.
        """
        arrays = {"frequent": self.frequent, "begins": self.begins, "candidates": self.candidates}
        try:
            save_file(arrays, path, metadata={FINGERPRINT: self.fingerprint})
        except (OSError, SafetensorError) as error:
            raise ModelFileError(f"{path}: cannot be written ({error})") from None

    @classmethod
    def load(cls, path: Path) -> "Shortlist":
        """Read what `save` wrote.

        Raises:
            ModelFileError: it is anything else.
        """
        header = read_header(path)
        names = ("frequent", "begins", "candidates")
        if set(header) != set(names) or any(
            e.dtype != "I64" or len(e.shape) != 1 for e in header.values()
        ):
            raise ModelFileError(f"{path}: not a shortlist; `regard shortlist` makes one")
        with safe_open(path, framework="np") as file:
            frequent, begins, candidates = (file.get_tensor(name) for name in names)
            metadata = file.metadata() or {}
        is_sound = (
            len(begins) > 0
            and begins[0] == 0
            and begins[-1] == len(candidates)
            and (np.diff(begins) >= 0).all()
            and all(array.min(initial=0) >= 0 for array in (frequent, candidates))
        )
        if not is_sound:
            raise ModelFileError(f"{path}: its numbers contradict one another; make it again")
        return cls(frequent, begins, candidates, metadata.get(FINGERPRINT, ""))

    def check(self, tokenisers: TokeniserPair, path: Path) -> None:
        """Refuse a shortlist of other tokens.

        Raises:
            ConfigError: the model cuts text differently.
        """
        sizes = len(tokenisers.source), len(tokenisers.target)
        largest = max(array.max(initial=0) for array in (self.frequent, self.candidates))
        is_fitting = len(self.begins) == sizes[0] + 1 and largest < sizes[1]
        if self.fingerprint != tokenisers.fingerprint() or not is_fitting:
            raise ConfigError(
                f"{path}: made for a model that cuts text differently; make another with "
                "`regard shortlist`"
            )


@dataclass(frozen=True, slots=True)
class _Narrow:
    """A request in the words of a smaller vocabulary: all that its sentences may use.

    Attributes:
        vocabulary: the token that each number now stands for.
        is_own: which of them each sentence may use.
        request: the same sentences, with prefixes in the new numbers.
        specials: likewise.
    """

    vocabulary: Int[Tensor, "U"]
    is_own: Bool[Tensor, "B U"]
    request: Request
    specials: Specials

    @classmethod
    def of(cls, request: Request, specials: Specials, shortlist: Shortlist) -> "_Narrow":
        special = [specials.pad, specials.bos, specials.eos]
        sources = request.source.cpu().numpy()
        masks = request.source_mask.cpu().numpy()
        own = [
            np.union1d(shortlist.of(source[mask].tolist()), [*special, *prefix])
            for source, mask, prefix in zip(sources, masks, request.prefixes, strict=True)
        ]
        vocabulary = np.unique(np.concatenate(own))
        is_own = np.stack([np.isin(vocabulary, tokens, assume_unique=True) for tokens in own])

        def renumbered(tokens: Sequence[int]) -> list[int]:
            found: list[int] = np.searchsorted(vocabulary, tokens).tolist()
            return found

        device = request.source.device
        return cls(
            torch.from_numpy(vocabulary).to(device),
            torch.from_numpy(is_own).to(device),
            replace(request, prefixes=tuple(tuple(renumbered(p)) for p in request.prefixes)),
            Specials(*renumbered(special)),
        )


def decode_narrowly(
    stepper: Stepper,
    request: Request,
    specials: Specials,
    config: DecodingConfig,
    shortlist: Shortlist,
) -> list[list[Hypothesis]]:
    """`decode_batch` with the vocabulary cut down to the sentences' shortlists.

    The output layer is computed for the union of the batch's shortlists, and what is not in a
    sentence's own gets probability 0: its translation does not depend on its neighbours.
    """
    narrow = _Narrow.of(request, specials, shortlist)
    small = _narrowed(stepper, narrow)
    found = decode_batch(small, narrow.request, narrow.specials, config)
    names = narrow.vocabulary.tolist()
    return [
        [replace(h, tokens=tuple(names[token] for token in h.tokens)) for h in hypotheses]
        for hypotheses in found
    ]


def _narrowed(stepper: Stepper, narrow: _Narrow) -> Stepper:
    if isinstance(stepper, Ensemble):
        return Ensemble([_narrowed(member, narrow) for member in stepper.members])
    assert isinstance(stepper, ModelStepper)
    return _NarrowStepper(stepper, narrow)


@dataclass(slots=True)
class _State:
    inner: Any
    bias: Float[Tensor, "B U"]
    lanes: int = 1


class _NarrowStepper:
    """A model's stepper whose output layer has the rows of a smaller vocabulary."""

    def __init__(self, stepper: ModelStepper, narrow: _Narrow) -> None:
        self.stepper = stepper
        self.vocabulary = narrow.vocabulary
        self.output: Product = product_of([stepper.model.output]).outputs(narrow.vocabulary)
        self.bias = torch.zeros(narrow.is_own.shape, device=narrow.is_own.device)
        self.bias.masked_fill_(~narrow.is_own, -torch.inf)

    def prepare(self) -> None:
        """Everything was made with it."""

    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"], max_length: int
    ) -> _State:
        return _State(self.stepper.start(source, source_mask, max_length), self.bias)

    def step(self, state: _State, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R U"]:
        logits = self.output(self.stepper.hidden(state.inner, self.vocabulary[tokens]))
        logits.view(len(state.bias), -1, logits.shape[1]).add_(state.bias.unsqueeze(1))
        return logits.log_softmax(-1)

    def reorder(self, state: _State, rows: Int[Tensor, "B N"]) -> None:
        self.stepper.reorder(state.inner, rows)
        state.bias = state.bias[rows[:, 0] // state.lanes]
        state.lanes = rows.shape[1]
