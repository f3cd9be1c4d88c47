"""What the workers of a search leave behind is nobody's."""

from regard.api import Translator
from regard.config import changed
from tests.little_corpus import sentences

TEXTS = [source for source, _ in sentences()[::5]]


def test_a_search_that_was_left_does_not_answer_the_next(translator: Translator) -> None:
    config = changed(translator.decoding, {"beam": 1, "batch_tokens": 40}, "decoding")
    parts = [part for text in TEXTS for part in translator.plan(text, config).parts]
    left = translator.sentences(parts, config, align=False, workers=2)
    next(left)
    left.close()  # type: ignore[attr-defined]
    expected = [each.text for each in translator.translate(TEXTS[::-1], beam=1, align=False)]
    found = translator.translate(TEXTS[::-1], beam=1, align=False, workers=2, batch_tokens=40)
    assert [each.text for each in found] == expected
