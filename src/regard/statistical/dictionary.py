"""Translation word by word: the best word of a lexicon, after two rules of word order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regard.align.aligner import train_aligner
from regard.align.links import Link
from regard.align.training import Progress, say_nothing
from regard.arrays import ArrayFile, packed
from regard.statistical.reordering import Reordering, learn_reordering
from regard.statistical.tokens import truecased, usual_tokens

FILE = ArrayFile(
    what="dictionary",
    maker="regard baseline train",
    version=1,
    kinds=dict.fromkeys(("source_words", "target_tokens", "swapped", "opening"), (np.uint8, 1)),
)


@dataclass(frozen=True)
class Dictionary:
    """One translation for every word.

        e_j = argmax_e t(e | f) t(f | e),   f = f_{π(j)}

    t are the tables of IBM Model 1 in both directions (Brown et al. 1993, section 4.1), π the
    order that the rules give. One direction alone would translate the full stop, which stands
    beside every word, by the most frequent one. A word that the tables lack is copied.

    Attributes:
        best: for each source word the token to write.
        rules: π.
    """

    best: Mapping[str, str]
    rules: Reordering

    def translate(
        self, words: Sequence[str], copies: Sequence[str]
    ) -> tuple[list[str], list[Link]]:
        """The tokens of the translation, and the source word of each.

        Args:
            words: of the source.
            copies: the tokens to write for those that are not in the table.
        """
        order = self.rules.order(words)
        tokens = [self.best.get(words[i], copies[i]) for i in order]
        return tokens, sorted((i, j) for j, i in enumerate(order))

    def save(self, path: Path) -> None:
        """Write the dictionary to a file: a zip of plain arrays, no pickle.

        Raises:
            ModelFileError: it cannot be written.
        """
        # An array cannot tell no word from the empty word: each list begins with the latter.
        lists = {
            "source_words": self.best,
            "target_tokens": self.best.values(),
            "swapped": sorted(self.rules.swapped),
            "opening": sorted(self.rules.opening),
        }
        FILE.write(path, {name: packed(["", *words]) for name, words in lists.items()})

    @classmethod
    def load(cls, path: Path) -> "Dictionary":
        """Read what `save` wrote.

        Raises:
            ModelFileError: it is missing, damaged or not a dictionary.
        """
        lists = {name: FILE.words(array, path)[1:] for name, array in FILE.read(path).items()}
        sources, targets = lists["source_words"], lists["target_tokens"]
        if len(sources) != len(targets) or len(set(sources)) < len(sources):
            raise FILE.refusal(path, "its words do not have one translation each")
        rules = Reordering(frozenset(lists["swapped"]), frozenset(lists["opening"]))
        return cls(dict(zip(sources, targets, strict=True)), rules)


def train_dictionary(
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    *,
    progress: Progress = say_nothing,
) -> Dictionary:
    """Learn the words and the rules from sentence pairs.

    Args:
        sources: the words of each source sentence.
        targets: the tokens of their translations.
        progress: told of every pass over the corpus.

    Raises:
        DataError: no sentence pair has words on both sides.
    """
    words = [[token.strip().lower() for token in tokens] for tokens in targets]
    aligner = train_aligner(sources, words, method="model1", how="intersection", progress=progress)
    assert aligner.forward is not None and aligner.reverse is not None
    lexicon = aligner.forward.lexicon.agreed(aligner.reverse.lexicon)
    usual = usual_tokens(truecased(targets))
    best = {
        word: usual[translation]
        for word in lexicon.source_words[1:]
        for translation, _ in lexicon.translations(word, 1)
    }
    return Dictionary(best, learn_reordering(sources, aligner.align(sources, words)))
