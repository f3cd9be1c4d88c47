"""Marian's tokenisers: transformers cuts as we do, and we cut as it does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regard.cli.convert import convert, write_run
from regard.convert.marian import read_marian, write_marian
from regard.convert.marian_config import MarianConfig
from regard.convert.marian_text import read_tokenisers
from regard.decoding.config import DecodingConfig
from regard.text.pair import TokeniserPair

from .opus import OPUS, write_opus
from .parcels import ENGLISH, FRENCH, learned_tokenisers, random_parcel, sentences

# MarianTokenizer looks for its own marks in a text, which Regard takes for text.
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="▁<>"))

PLAIN = [*sentences(FRENCH, 20, seed=3), "", "Ça coûte 3,50 €…", "日本語", "  two  spaces "]


@pytest.fixture(scope="module")
def exported(joint: TokeniserPair, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "marian"
    write_marian(random_parcel(joint), folder)
    return folder


@pytest.fixture(scope="module")
def opus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_opus(tmp_path_factory.mktemp("opus") / "opus")


@pytest.fixture(scope="module")
def imported(opus: Path) -> TokeniserPair:
    return read_tokenisers(opus, MarianConfig(model_type="marian", **_read_by_us()))


def _read_by_us() -> dict[str, Any]:
    return {key: value for key, value in OPUS.items() if key != "forced_eos_token_id"}


@pytest.fixture(scope="module")
def theirs(transformers: Any, exported: Path) -> Any:
    return transformers.MarianTokenizer.from_pretrained(exported)


@pytest.fixture(scope="module")
def their_opus(transformers: Any, opus: Path) -> Any:
    return transformers.MarianTokenizer.from_pretrained(opus)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=TEXTS)
def test_transformers_cuts_a_text_as_regard_does(
    joint: TokeniserPair, theirs: Any, text: str
) -> None:
    assert theirs(text)["input_ids"] == [*joint.source.encode_ids([text])[0], joint.source.eos]


@pytest.mark.parametrize("text", PLAIN)
def test_transformers_puts_a_text_together_as_regard_does(
    joint: TokeniserPair, theirs: Any, text: str
) -> None:
    ids = [joint.target.bos, *joint.target.encode_ids([text])[0], joint.target.eos]
    # It strips what it has put together.
    assert theirs.decode(ids, skip_special_tokens=True) == text.strip()


@pytest.mark.parametrize("text", PLAIN)
def test_a_vocabulary_a_language_is_written_as_two(
    transformers: Any, apart: TokeniserPair, tmp_path: Path, text: str
) -> None:
    write_marian(random_parcel(apart, share_embeddings="target"), tmp_path / "marian")
    tokeniser = transformers.MarianTokenizer.from_pretrained(tmp_path / "marian")
    found = tokeniser(text, text_target=text)
    assert found["input_ids"][:-1] == apart.source.encode_ids([text])[0]
    assert found["labels"][:-1] == apart.target.encode_ids([text])[0]


@pytest.mark.parametrize("text", [*PLAIN, ">>en<< Jane visite", ">>xx<< Jane", "ﬁn ①"])
def test_an_imported_tokeniser_cuts_as_transformers_does(
    imported: TokeniserPair, their_opus: Any, text: str
) -> None:
    ids = [*imported.source.encode_ids([text])[0], imported.source.eos]
    assert ids == their_opus(text)["input_ids"]


@pytest.mark.parametrize("text", sentences(ENGLISH, 5, seed=4))
def test_an_imported_tokeniser_cuts_the_target_as_transformers_does(
    imported: TokeniserPair, their_opus: Any, text: str
) -> None:
    labels = their_opus(text_target=text)["input_ids"]
    assert [*imported.target.encode_ids([text])[0], imported.target.eos] == labels


def test_an_imported_tokeniser_starts_with_padding(imported: TokeniserPair) -> None:
    target = imported.target
    assert (target.pad, target.bos, target.eos, target.unk) == (49, 49, 0, 1)


def test_an_exported_tokeniser_comes_back(joint: TokeniserPair, exported: Path) -> None:
    back = read_marian(exported).tokenisers
    assert back.joint
    assert back.source.encode_ids(PLAIN) == joint.source.encode_ids(PLAIN)


def test_an_imported_model_is_exported_with_its_own_vocabulary(
    transformers: Any, imported: TokeniserPair, opus: Path, tmp_path: Path
) -> None:
    parcel = random_parcel(imported, output_bias=True)
    write_marian(parcel, tmp_path / "marian")
    again = transformers.MarianTokenizer.from_pretrained(tmp_path / "marian")
    assert again.get_vocab() == transformers.MarianTokenizer.from_pretrained(opus).get_vocab()
    for name in ("source.spm", "target.spm"):
        assert (tmp_path / "marian" / name).read_bytes() == (opus / name).read_bytes()
    back = read_marian(tmp_path / "marian")
    assert torch.equal(back.tensors["output.bias"], parcel.tensors["output.bias"])


@pytest.mark.parametrize(("form", "words"), [("nfkc", "to NFKC"), ("lower", "to lower case")])
def test_what_the_other_program_does_not_do_is_told(
    form: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(random_parcel(learned_tokenisers(normalise=form)), tmp_path / "run")
    convert(tmp_path / "run", tmp_path / "marian", to="marian")
    assert f"does not bring text {words}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": "gnmt"}, "no GNMT length penalty"),
        ({"coverage": 0.2}, "no coverage penalty"),
        ({"consensus": 7.0}, "no consensus"),
    ],
)
def test_what_the_other_program_does_not_search_for_is_told(
    options: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parcel = random_parcel(learned_tokenisers())
    write_run(replace(parcel, decoding=DecodingConfig(**options)), tmp_path / "run")
    convert(tmp_path / "run", tmp_path / "marian", to="marian")
    assert words in capsys.readouterr().err
