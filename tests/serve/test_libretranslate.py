"""The clients of LibreTranslate work with our server unchanged."""

from urllib.error import HTTPError

import pytest
from libretranslatepy import LibreTranslateAPI

from regard.api import Translator
from regard.serve.keys import Keys
from tests.serve.running import Running, running

SENTENCE = "Jane visite l'Afrique en septembre."
KEY = "0123456789abcdef"


def test_its_client_translates_detects_and_lists_languages(
    translator: Translator, backwards: Translator
) -> None:
    with running({"there": translator, "back": backwards}) as server:
        client = LibreTranslateAPI(server.address)
        found = client.translate(SENTENCE, "fr", "en")
        assert found == translator.translate(SENTENCE, align=False).text
        assert client.translate(SENTENCE, "auto", "en") == found
        assert client.detect(SENTENCE)[0]["language"] == "fr"
        assert client.detect("Where is the station?")[0]["language"] == "en"
        assert client.languages() == [
            {"code": "fr", "name": "French", "targets": ["en"]},
            {"code": "en", "name": "English", "targets": ["fr"]},
        ]


def test_its_client_sends_its_key(translator: Translator) -> None:
    with running({"mine": translator}, keys=Keys(["another key of ours", KEY])) as server:
        client = LibreTranslateAPI(server.address, KEY)
        assert client.translate(SENTENCE, "fr", "en")
        assert client.detect(SENTENCE)
        assert client.languages()
        for key in (None, "", "0123456789abcdeX"):
            with pytest.raises(HTTPError, match="403"):
                LibreTranslateAPI(server.address, key).translate(SENTENCE, "fr", "en")


def test_settings_are_those_a_client_expects(server: Running) -> None:
    settings = server.get("/frontend/settings").json
    assert settings["charLimit"] == 10_000
    assert settings["keyRequired"] is False
    assert settings["language"]["target"] == {"code": "en", "name": "English"}
    assert settings["supportedFilesFormat"] == []


def test_detection_is_among_the_languages_served(server: Running) -> None:
    found = server.post("/detect", q="Wo ist der Bahnhof?").json
    assert {each["language"] for each in found} <= {"fr", "en"}
    assert sum(each["confidence"] for each in found) == pytest.approx(100, abs=0.2)
