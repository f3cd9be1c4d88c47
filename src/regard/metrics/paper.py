"""The BLEU that papers on Multi30k report: lowercased, normalised, tokenised by Moses.

Higher than sacreBLEU's on the same text, and comparable only with others of its kind.
"""

import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

from sacrebleu.metrics.bleu import BLEU

from regard.metrics.options import Language
from regard.metrics.sacre import SacreScorer
from regard.metrics.scorer import Counts
from regard.metrics.text import read_text


def tokenise(line: str, language: Language) -> str:
    """Make of a raw line what the files `*.lc.norm.tok.*` of Multi30k have.

    lowercase.perl, then normalize-punctuation.perl, then tokenizer.perl, through sacremoses:
    hyphenated words stay whole, special characters are escaped (`'` becomes `&apos;`).

    Two faults of the Perl scripts are in those files and therefore here: they move the full stop
    out of a quotation that ends the line, and turn a lone ’ into a double quote.
    """
    normaliser, tokeniser = _moses(language)
    # Perl's lines end in their newline, and one rule looks at what follows a quotation.
    normal = normaliser.normalize(line.lower() + "\n")
    return str(tokeniser.tokenize(normal, return_str=True, escape=True))


def paper_language(language: str) -> Language | None:
    """The language, if the papers' BLEU is defined for it."""
    return next((each for each in get_args(Language) if each == language), None)


class PaperBleu(SacreScorer):
    """BLEU as multi-bleu.perl computes it on text prepared by `tokenise`.

    Without smoothing: the score is zero if no four words in a row are right.
    """

    def __init__(self, language: Language) -> None:
        super().__init__(
            "papers' BLEU",
            BLEU(tokenize="none", force=True, smooth_method="none"),
            BLEU(tokenize="none", force=True, effective_order=True),
        )
        self._language = language

    def count(self, hypotheses: Sequence[str], references: Sequence[str]) -> Counts:
        return super().count(self._prepare(hypotheses), self._prepare(references))

    def score_line(self, hypothesis: str, reference: str) -> float:
        return super().score_line(*self._prepare([hypothesis, reference]))

    def signature(self, samples: int = 0) -> str:
        # sacreBLEU saw neither the case nor the tokeniser.
        plain = super().signature(samples).replace("case:mixed", "case:lc")
        moses = f"tok:moses-{self._language}|sacremoses:{version('sacremoses')}"
        return plain.replace("tok:none", moses)

    def _prepare(self, lines: Sequence[str]) -> list[str]:
        return [tokenise(line, self._language) for line in lines]


@cache
def _moses(language: Language) -> tuple[Any, Any]:
    from sacremoses import MosesPunctNormalizer, MosesTokenizer

    # perl_parity: what the Perl script does, where sacremoses would know better.
    return MosesPunctNormalizer(language, perl_parity=True), MosesTokenizer(language)


def main() -> None:
    """Tokenise standard input, to be compared with a file that others have tokenised."""
    languages: dict[str, Language] = {name: name for name in get_args(Language)}
    if len(sys.argv) != 2 or sys.argv[1] not in languages:
        sys.exit(f"usage: python -m regard.metrics.paper {'|'.join(languages)} < FILE")
    for line in read_text(Path("-")).lines:
        sys.stdout.buffer.write(tokenise(line, languages[sys.argv[1]]).encode() + b"\n")


if __name__ == "__main__":
    main()
