"""Learn the tokenisers of a run from its text."""

from collections.abc import Iterable, Iterator
from itertools import chain

from regard.errors import ConfigError, DataError
from regard.text.byte import Bytes
from regard.text.characters import Characters
from regard.text.config import TextConfig
from regard.text.pair import TokeniserPair
from regard.text.sentencepieces import SentencePieces
from regard.text.tokeniser import Tokeniser
from regard.text.words import Words


def train_tokenisers(
    config: TextConfig, source: Iterable[str], target: Iterable[str]
) -> TokeniserPair:
    """One tokeniser for both sides, or one for each. Same text and config, same files.

    Raises:
        ConfigError: if the vocabulary is too small for the text, or the kind cannot be learnt.
        DataError: if there is no text.
    """
    if config.joint:
        joint = _train(config, chain(source, target), "training text")
        return TokeniserPair(joint, joint)
    return TokeniserPair(
        _train(config, source, "source side of the training text"),
        _train(config, target, "target side of the training text"),
    )


def _train(config: TextConfig, texts: Iterable[str], name: str) -> Tokeniser:
    if config.kind == "bytes":
        return Bytes(normalise=config.normalise)
    if config.kind == "marian":
        raise ConfigError(
            'text.kind = "marian" is only ever imported; to learn from text set "bpe" or "unigram"'
        )
    filled: Iterator[str] = (text for text in texts if text and not text.isspace())
    first = next(filled, None)
    if first is None:
        raise DataError(f"the {name} is empty; a tokeniser needs text to learn its pieces from")
    filled = chain([first], filled)
    match config.kind:
        case "bpe" | "unigram":
            return SentencePieces.train(
                filled,
                config.kind,
                vocab_size=config.vocab_size,
                sampling=config.sampling,
                normalise=config.normalise,
            )
        case "words":
            return Words.train(filled, vocab_size=config.vocab_size, normalise=config.normalise)
        case "characters":
            return Characters.train(
                filled, vocab_size=config.vocab_size, normalise=config.normalise
            )
