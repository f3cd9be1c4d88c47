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
from regard.native import kernels
from regard.nn.own import WHOLE, own_product
from regard.nn.product import product_of
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
        found = np.sort(np.concatenate([self.frequent, *own]))
        return found[np.diff(found, prepend=-1) > 0]

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
    """A request in which every sentence has a vocabulary of its own.

    Attributes:
        own: the token that each number stands for in each sentence, the special ones first;
            filled up to one length.
        counts: how many tokens each sentence has.
        request: the same sentences, with prefixes in the new numbers.
        specials: in the new numbers, which are the same for all.
    """

    own: Int[Tensor, "B U"]
    counts: Int[Tensor, "B"]
    request: Request
    specials: Specials

    @classmethod
    def of(cls, request: Request, specials: Specials, shortlist: Shortlist) -> "_Narrow":
        ids = [specials.pad, specials.bos, specials.eos]
        special = list(dict.fromkeys(ids))
        sources = request.source.cpu().numpy()
        lengths = request.source_mask.sum(1).tolist()
        own = []
        for source, length, prefix in zip(sources, lengths, request.prefixes, strict=True):
            tokens = shortlist.of(source[:length].tolist())
            if prefix:
                tokens = np.union1d(tokens, prefix)
            is_special = np.logical_or.reduce([tokens == each for each in special])
            own.append(np.concatenate([special, tokens[~is_special]]))
        counts = list(map(len, own))
        width = -(-max(counts) // WHOLE) * WHOLE
        filled = np.full((len(own), width), specials.pad)
        for row, tokens in zip(filled, own, strict=True):
            row[: len(tokens)] = tokens
        prefixes = [
            tuple(tokens.tolist().index(token) for token in prefix)
            for tokens, prefix in zip(own, request.prefixes, strict=True)
        ]
        device = request.source.device
        return cls(
            torch.from_numpy(filled).to(device),
            torch.tensor(counts, device=device),
            replace(request, prefixes=tuple(prefixes)),
            Specials(*map(special.index, ids)),
        )


def decode_narrowly(
    stepper: Stepper,
    request: Request,
    specials: Specials,
    config: DecodingConfig,
    shortlist: Shortlist,
) -> list[list[Hypothesis]]:
    """`decode_batch` with the vocabulary of each sentence cut down to its shortlist.

    The output layer is computed for those tokens alone, and a sentence's translation does not
    depend on its neighbours. A sample is another draw than with the whole vocabulary, for tokens
    have other numbers.
    """
    narrow = _Narrow.of(request, specials, shortlist)
    small = _narrowed(stepper, narrow)
    found = decode_batch(small, narrow.request, narrow.specials, config)
    return [
        [replace(h, tokens=tuple(names[token] for token in h.tokens)) for h in hypotheses]
        for names, hypotheses in zip(narrow.own.tolist(), found, strict=True)
    ]


def _narrowed(stepper: Stepper, narrow: _Narrow) -> Stepper:
    if isinstance(stepper, Ensemble):
        return Ensemble([_narrowed(member, narrow) for member in stepper.members])
    assert isinstance(stepper, ModelStepper)
    return _NarrowStepper(stepper, narrow)


@dataclass(slots=True)
class _State:
    inner: Any
    sentences: Int[Tensor, "B"]
    lanes: int = 1


class _NarrowStepper:
    """A model's stepper whose output layer has, for each sentence, the tokens of its own."""

    def __init__(self, stepper: ModelStepper, narrow: _Narrow) -> None:
        self.stepper = stepper
        self.own = narrow.own
        self.output = own_product(product_of([stepper.model.output]), narrow.own, narrow.counts)

    def prepare(self) -> None:
        """Everything was made with it."""

    def start(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B S"], max_length: int
    ) -> _State:
        sentences = torch.arange(len(source), device=source.device)
        return _State(self.stepper.start(source, source_mask, max_length), sentences)

    def step(self, state: _State, tokens: Int[Tensor, "R"]) -> Float[Tensor, "R U"]:
        rows = state.sentences.repeat_interleave(state.lanes)
        hidden = self.stepper.hidden(state.inner, self.own[rows, tokens])
        logits = self.output(hidden, state.sentences)
        return kernels.log_softmax_(logits) if kernels.can_take(logits) else logits.log_softmax(-1)

    def reorder(self, state: _State, rows: Int[Tensor, "B N"]) -> None:
        self.stepper.reorder(state.inner, rows)
        state.sentences = state.sentences[rows[:, 0] // state.lanes]
        state.lanes = rows.shape[1]
