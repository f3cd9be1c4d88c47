"""The pictures of README and docs can be taken again, of any model."""

from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser

from regard.api import Translator
from tests.page.pictures import FOLDER, PHONE, draw, shots, take
from tests.serve.running import running

SENTENCE = "Jane visite l'Afrique."


def test_the_lens_draws_its_pictures(translator: Translator, tmp_path: Path) -> None:
    paths = draw(translator, SENTENCE, tmp_path)
    assert {path.name for path in paths} == {path.name for path in tmp_path.iterdir()}
    assert {path.name for path in paths} <= {path.name for path in FOLDER.iterdir()}
    with Image.open(tmp_path / "attention.png") as image:
        assert image.mode == "P" and image.width > image.height


@pytest.mark.parametrize("name", ["translate-phone", "steps"])
def test_a_page_is_taken(
    browser: Browser, translator: Translator, tmp_path: Path, name: str
) -> None:
    (shot,) = (each for each in shots(SENTENCE, False, False) if each.name == name)
    with running({"mine": translator}) as server:
        path = take(browser, server, shot, tmp_path)
    with Image.open(path) as image:
        assert len(image.getcolors() or []) > 20  # something is to be seen
        assert image.width == 2 * PHONE if shot.width == PHONE else image.width > 2 * PHONE


def test_all_of_them_were_taken() -> None:
    assert {f"{shot.name}.png" for shot in shots(SENTENCE, False, False)} <= {
        path.name for path in FOLDER.iterdir()
    }
