"""Unknown words are replaced by what was looked at."""

import dataclasses
from pathlib import Path

import pytest
import torch

from regard.api import load
from regard.build import build_trainer, create_run
from regard.lens.unknown import replace_unknown
from regard.models.bahdanau import BahdanauConfig
from regard.text.config import TextConfig
from regard.text.encoded import Encoded
from regard.text.words import Words
from tests.little_corpus import little_run, write_corpus

TARGET = Words([" likes", " in", ".", " Rome"])
SOURCE = Words([" aime", " à", "."])


def attention(*looked: int, num_source: int) -> torch.Tensor:
    return torch.eye(num_source)[list(looked)]


def test_the_attended_word_stands_where_the_unknown_one_was() -> None:
    source = SOURCE.encode("Zoé aime Rome.")  # Zoé | aime | Rome | .
    target = TARGET.spell(TARGET.encode("Zoe likes Oslo in Rome.").ids)
    assert target.text == "⁇ likes ⁇ in Rome."
    weights = attention(0, 1, 2, 1, 2, 3, 4, num_source=5)
    found = replace_unknown(target, source, weights, TARGET.unk)
    assert found.text == "Zoé likes Rome in Rome."
    assert found.ids == target.ids
    assert [found.text[start:end] for start, end in found.offsets] == [
        "Zoé",
        " likes",
        " Rome",
        " in",
        " Rome",
        ".",
    ]
    assert [piece.lstrip("▁") for piece in found.pieces][:3] == ["Zoé", "likes", "Rome"]


@pytest.mark.parametrize(("source", "target"), [("Zoé", "likes"), ("", "Zoe")])
def test_without_an_unknown_word_or_a_source_nothing_changes(source: str, target: str) -> None:
    spelled = TARGET.spell(TARGET.encode(target).ids)
    read = SOURCE.encode(source)
    weights = torch.ones(len(spelled.ids) + 1, len(read.ids) + 1)
    found: Encoded = replace_unknown(spelled, read, weights, TARGET.unk)
    assert found == spelled


def test_a_translator_replaces_them(tmp_path: Path) -> None:
    config = dataclasses.replace(
        little_run(write_corpus(tmp_path), steps=2, validate_bleu=False, average=0),
        text=TextConfig(kind="words", vocab_size=12),
        model=BahdanauConfig(d_model=8, d_align=8),
    )
    run = create_run(tmp_path / "run", config)
    build_trainer(run).train()
    translator = load(run.folder, device="cpu")
    with torch.no_grad():  # nothing is more probable than the unknown word
        translator.models[0].output.weight.zero_()
        translator.models[0].output.bias = torch.nn.Parameter(
            5.0 * torch.nn.functional.one_hot(torch.tensor(1), len(run.tokenisers.target)).float()
        )
    text = "Jane visite la gare."
    options = {"beam": 1, "max_ratio": 0.0, "max_extra": 4}
    before = translator.translate(text, **options).text
    after = translator.translate(text, replace_unknown=True, **options).text
    assert before == "⁇ ⁇ ⁇"
    assert len(after.split()) == 3 and "⁇" not in after
    assert set(after.split()) <= {"Jane", "visite", "la", "gare", "."}
