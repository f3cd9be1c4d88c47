"""Whole systems: what they learn from a phrasebook, and what their folders hold."""

import json
from pathlib import Path

import pytest

from regard.data.corpus import Example
from regard.data.phrasebook import phrasebook
from regard.errors import DataError, ModelFileError
from regard.metrics.bleu import bleu
from regard.statistical.decoder import SearchConfig
from regard.statistical.system import (
    LONGEST_PART,
    DictionarySystem,
    PhraseSystem,
    System,
    load_system,
    train_system,
)
from regard.text.spans import word_spans

QUICK = SearchConfig(stack=20, options=5, distortion_limit=4)
JANE, AFRICA = "Jane visite l'Afrique en septembre.", "Jane visits Africa in September."


@pytest.fixture(scope="module")
def corpus() -> tuple[list[Example], list[Example]]:
    """Sentences to learn from, that of the lectures among them, and others that are new."""
    splits = phrasebook(size=1500)
    return [*splits.train, Example(JANE, AFRICA)], splits.test[:30]


@pytest.fixture(scope="module")
def dictionary(corpus: tuple[list[Example], list[Example]]) -> System:
    return train_system("dictionary", corpus[0])


@pytest.fixture(scope="module")
def phrases(corpus: tuple[list[Example], list[Example]]) -> System:
    return PhraseSystem.train(corpus[0], search=QUICK)


@pytest.fixture(scope="module", params=["dictionary", "phrases"])
def system(request: pytest.FixtureRequest) -> System:
    found: System = request.getfixturevalue(request.param)
    return found


def score(system: System, pairs: list[Example]) -> float:
    texts = [each.text for each in system.translate([pair.source for pair in pairs])]
    return bleu().score(texts, [pair.target for pair in pairs], samples=0).value


def test_phrases_translate_better_than_words(
    dictionary: System, phrases: System, corpus: tuple[list[Example], list[Example]]
) -> None:
    by_words, by_phrases = score(dictionary, corpus[1]), score(phrases, corpus[1])
    assert by_words > 15
    assert by_phrases > by_words + 20


def test_the_sentence_of_the_lectures_is_translated(phrases: System) -> None:
    found = phrases.translate_one(JANE)
    assert found.text == AFRICA
    assert found.source == ("Jane", "visite", "l'", "Afrique", "en", "septembre", ".")
    assert found.target == ("Jane", "visits", "Africa", "in", "September", ".")
    assert {(0, 0), (1, 1), (3, 2), (5, 4), (6, 5)} <= set(found.links)


def test_links_are_between_the_words_that_are_shown(
    system: System, corpus: tuple[list[Example], list[Example]]
) -> None:
    for pair in corpus[1][:8]:
        found = system.translate_one(pair.source)
        assert len(found.source) == len(word_spans(pair.source))
        assert all(i < len(found.source) and j < len(found.target) for i, j in found.links)
        assert "".join(found.target).lower() == "".join(found.text.split()).lower()


@pytest.mark.parametrize("text", ["", "   ", "?", "猫", "Zebedee!", "a" * 5000])
def test_anything_is_answered(system: System, text: str) -> None:
    found = system.translate_one(text)
    assert len(found.source) == len(word_spans(text))
    assert bool(found.text) == bool(text.strip())


def test_words_that_nobody_knows_are_copied(system: System) -> None:
    assert "Zebedee" in system.translate_one("Zebedee visite l'Afrique.").text


def test_a_sentence_of_many_words_is_translated_in_parts(phrases: System) -> None:
    text = " ".join(["Jane visite l'Afrique"] * 30)  # four words each
    found = phrases.translate_one(text)
    assert found.text.count("Africa") == 30
    assert len(found.source) == 120 > LONGEST_PART
    assert {i for i, _ in found.links} >= {i for i, w in enumerate(found.source) if w == "Jane"}


def test_a_folder_holds_all_of_it(
    system: System, corpus: tuple[list[Example], list[Example]], tmp_path: Path
) -> None:
    system.save(tmp_path / "system")
    again = load_system(tmp_path / "system")
    assert again.kind == system.kind
    texts = [pair.source for pair in corpus[1][:5]]
    assert again.translate(texts) == system.translate(texts)


def test_an_existing_folder_is_not_written_over(dictionary: System, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="exists already"):
        dictionary.save(tmp_path)


def test_a_damaged_file_is_named(dictionary: System, tmp_path: Path) -> None:
    dictionary.save(tmp_path / "system")
    file = tmp_path / "system" / "dictionary.npz"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(ModelFileError, match=r"dictionary\.npz is damaged"):
        load_system(tmp_path / "system")


def reseal(folder: Path, index: str) -> None:
    """Change the index, and the manifest with it: whoever made the folder meant it."""
    from regard.sealed import sealing

    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    with sealing(folder.parent / "again") as place:
        for name, content in contents.items():
            if name != "manifest.json":
                (place / name).write_bytes(content)
        (place / "system.json").write_text(index, "utf-8")


@pytest.mark.parametrize(
    "index",
    [
        "",
        "[]",
        "{}",
        '{"kind": "oracle"}',
        '{"kind": "phrases", "weights": {"phrase": "much"}}',
        '{"kind": "phrases", "search": {"stack": 0}}',
    ],
)
def test_an_index_that_makes_no_sense_is_refused(
    dictionary: System, tmp_path: Path, index: str
) -> None:
    dictionary.save(tmp_path / "system")
    reseal(tmp_path / "system", index)
    with pytest.raises(ModelFileError, match=r"system\.json"):
        load_system(tmp_path / "again")


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is not a folder"):
        load_system(tmp_path / "absent")
    with pytest.raises(ModelFileError, match="no manifest"):
        load_system(tmp_path)


def test_nothing_cannot_be_learned_from() -> None:
    with pytest.raises(DataError, match="no sentence pairs"):
        train_system("phrases", [])


def test_training_is_told_of(corpus: tuple[list[Example], list[Example]]) -> None:
    told: list[tuple[str, float]] = []
    DictionarySystem.train(corpus[0][:50], progress=lambda *each: told.append(each))
    PhraseSystem.train(
        corpus[0][:50], corpus[1][:2], search=QUICK, progress=lambda *each: told.append(each)
    )
    stages = list(dict.fromkeys(stage for stage, _ in told))
    assert stages[:2] == ["aligning words, Model 1", "aligning words, HMM"]
    assert stages[2:] == ["extracting phrases", "counting n-grams", "tuning"]
    assert all(0 <= share <= 1 for _, share in told)


def test_translations_can_be_written_as_json(phrases: System) -> None:
    again = json.loads(json.dumps(phrases.translate_one(JANE).to_json()))
    assert again["text"] == AFRICA
    assert [0, 0] in again["links"]
