"""`/translate` answers what the model in a notebook would."""

from typing import Any

import pytest

from regard.api import Translator
from regard.errors import ConfigError, ModelFileError
from regard.serve.refusal import OUR_FAULT
from tests.little_corpus import sentences
from tests.serve.running import Running, events, running

SENTENCE = "Jane visite l'Afrique en septembre."
OTHERS = [source for source, _ in sentences()[::17]]
PARAGRAPH = "Jane voit un livre. Elle aime la gare.\n\nMon ami cherche un livre."


def text_of(translator: Translator, text: str, **options: Any) -> str:
    return translator.translate(text, align=False, **options).text


def test_a_text_is_translated(server: Running, translator: Translator) -> None:
    reply = server.post("/translate", q=SENTENCE, source="fr", target="en")
    assert reply.status == 200, reply.content
    assert reply.json == {"translatedText": text_of(translator, SENTENCE), "model": "mine"}


def test_a_paragraph_keeps_its_white_space(server: Running, translator: Translator) -> None:
    reply = server.post("/translate", q=PARAGRAPH, source="fr")
    assert reply.json["translatedText"] == text_of(translator, PARAGRAPH)


def test_a_list_is_answered_by_a_list(server: Running, translator: Translator) -> None:
    reply = server.post("/translate", q=OTHERS, source="fr", target="en")
    assert reply.json["translatedText"] == [text_of(translator, text) for text in OTHERS]


@pytest.mark.parametrize(("q", "answer"), [([], []), (["", " "], ["", ""]), ("", "")], ids=str)
def test_nothing_is_answered_by_nothing(server: Running, q: Any, answer: Any) -> None:
    reply = server.post("/translate", q=q)
    assert (reply.status, reply.json["translatedText"]) == (200, answer)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_beam_can_be_chosen(server: Running, translator: Translator, beam: int) -> None:
    reply = server.post("/translate", q=PARAGRAPH, source="fr", beam=beam)
    assert reply.json["translatedText"] == text_of(translator, PARAGRAPH, beam=beam)


def test_a_prefix_is_gone_on_from(server: Running, translator: Translator) -> None:
    reply = server.post("/translate", q=SENTENCE, prefix="my friend")
    assert reply.json["translatedText"] == text_of(translator, SENTENCE, prefix="my friend")
    assert reply.json["translatedText"].startswith("my friend")


def test_alternatives_are_the_other_candidates(server: Running, translator: Translator) -> None:
    (found,) = translator.translate(SENTENCE, n_best=3, beam=4, align=False).sentences
    one = server.post("/translate", q=SENTENCE, alternatives=2, beam=4).json
    assert one["alternatives"] == [candidate.text for candidate in found.candidates[1:]]
    many = server.post("/translate", q=[SENTENCE, PARAGRAPH], alternatives=2, beam=4).json
    assert many["alternatives"][0] == one["alternatives"]
    assert [len(each) for each in many["alternatives"]] == [2, 2]
    assert many["alternatives"][1][0].count("\n\n") == 1


def test_details_are_those_of_a_notebook(server: Running, translator: Translator) -> None:
    reply = server.post("/translate", q=PARAGRAPH, source="fr", details=True).json
    expected = translator.translate(PARAGRAPH).to_json()
    (detail,) = reply["details"]
    assert detail["text"] == reply["translatedText"] == expected["text"]
    for found, sentence in zip(detail["sentences"], expected["sentences"], strict=True):
        assert found.pop("log_probs") == pytest.approx(sentence.pop("log_probs"), abs=1e-4)
        assert found.pop("score") == pytest.approx(sentence.pop("score"), abs=1e-4)
        assert found == sentence


def test_the_language_is_found_out(translator: Translator, backwards: Translator) -> None:
    with running({"there": translator, "back": backwards}) as server:
        reply = server.post("/translate", q=SENTENCE, source="auto", target="en").json
        assert reply["detectedLanguage"] == {"language": "fr", "confidence": 100.0}
        assert reply["model"] == "there"
        many = server.post("/translate", q=["Where is the station?", "Thank you."], target="fr")
        assert [each["language"] for each in many.json["detectedLanguage"]] == ["en", "en"]
        assert many.json["model"] == "back"
        assert server.post("/translate", q=SENTENCE, model="back").json["model"] == "back"
        unsaid = server.post("/translate", q=SENTENCE)
        assert unsaid.status == 400
        assert unsaid.json["error"].startswith("target: give the language to translate into")


def test_tags_stay_and_text_is_translated(server: Running, translator: Translator) -> None:
    html = f'<p class="a">{SENTENCE}<br/> Elle aime la gare. </p><script>le chat</script>'
    reply = server.post("/translate", q=html, source="fr", format="html")
    first, second = (text_of(translator, text) for text in (SENTENCE, "Elle aime la gare."))
    expected = f'<p class="a">{first}<br/> {second} </p><script>le chat</script>'
    assert reply.json["translatedText"] == expected


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({}, 400, "q: field required"),
        ({"q": 5}, 400, "q: input should be a valid string"),
        ({"q": "a", "tarqet": "en"}, 400, "tarqet: extra inputs are not permitted"),
        ({"q": "a", "beam": "4"}, 400, "beam: input should be a valid integer"),
        ({"q": "a", "beam": 0}, 400, "beam: input should be greater than or equal to 1"),
        ({"q": "a", "beam": 9}, 400, "beam: at most 8 here"),
        ({"q": "a", "alternatives": 8}, 400, "alternatives: at most 7 here"),
        ({"q": "a", "target": "xx"}, 400, "target: 'xx' is not served here; there is: en"),
        ({"q": "a", "source": "en"}, 400, "source: 'en' is not served here; there is: fr"),
        ({"q": "a", "model": "../mine"}, 404, "model: '../mine' is not served; there are: mine"),
        ({"q": "a", "model": "%2e%2e"}, 404, "model: '%2e%2e' is not served; there are: mine"),
        ({"q": "a", "model": "/etc"}, 404, "model: '/etc' is not served; there are: mine"),
        ({"q": "a", "model": "mine\0"}, 404, r"model: 'mine\x00' is not served; there are: mine"),
        ({"q": "a" * 10_001}, 413, "q: 10,001 characters; at most 10,000 at once"),
        ({"q": [""] * 129}, 413, "q: 129 texts; at most 128 at once"),
        ({"q": "a", "model": "mine-too"}, 404, "model: 'mine-too' is not served; there are: mine"),
        ({"q": "a", "model": "min"}, 404, "model: 'min' is not served; there are: mine"),
    ],
)
def test_a_refusal_is_one_line(
    server: Running, fields: dict[str, Any], status: int, message: str
) -> None:
    reply = server.post("/translate", **fields)
    assert (reply.status, list(reply.json)) == (status, ["error"])
    assert message in reply.json["error"]


# ------------------------------------------------------------------------------ step by step


@pytest.mark.parametrize("beam", [1, 4])
def test_a_stream_ends_with_what_translate_answers(server: Running, beam: int) -> None:
    reply = server.post("/translate/stream", q=PARAGRAPH, source="fr", beam=beam)
    assert reply.headers["content-type"].startswith("text/event-stream")
    names = [name for name, _ in events(reply.content)]
    assert names.count("sentence") == 3 and names[-2:] == ["sentence", "done"]
    plain = server.post("/translate", q=PARAGRAPH, source="fr", beam=beam)
    assert events(reply.content)[-1] == ("done", plain.json)


def test_the_steps_of_greedy_search_spell_the_translation(server: Running) -> None:
    reply = server.post("/translate/stream", q=SENTENCE, source="fr", beam=1, rivals=3)
    told = events(reply.content)
    steps = [data for name, data in told if name == "step"]
    (sentence,) = [data for name, data in told if name == "sentence"]
    assert [step["step"] for step in steps] == list(range(len(steps)))
    assert [step["nodes"][0]["piece"] for step in steps[:-1]] == sentence["pieces"]
    assert [step["is_end"] for step in steps] == [False] * len(sentence["pieces"]) + [True]
    assert steps[-1]["text"] == sentence["endings"][0]["text"] == told[-1][1]["translatedText"]
    for step in steps:
        (node,) = step["nodes"]
        assert node["piece"] == node["rivals"][0]["piece"]
        assert node["probability"] == pytest.approx(node["rivals"][0]["probability"], abs=1e-6)
        assert len(node["rivals"]) == 3


def test_the_steps_of_a_beam_are_a_tree_with_the_candidates_as_leaves(
    server: Running, translator: Translator
) -> None:
    reply = server.post("/translate/stream", q=SENTENCE, source="fr", beam=4, alternatives=3)
    told = events(reply.content)
    nodes = {n["id"]: n for name, data in told if name == "step" for n in data["nodes"]}
    (sentence,) = [data for name, data in told if name == "sentence"]
    (expected,) = translator.translate(SENTENCE, beam=4, n_best=4, align=False).sentences
    for ending, candidate in zip(sentence["endings"], expected.candidates, strict=True):
        path = [nodes[ending["node"]]]
        while path[-1]["parent"]:
            path.append(nodes[path[-1]["parent"]])
        assert [n["piece"] for n in reversed(path)] == [*candidate.target.pieces, "</s>"]
        assert ending["text"] == candidate.text
        assert ending["score"] == pytest.approx(candidate.score, abs=1e-4)
    assert told[-1][1]["alternatives"] == [e["text"] for e in sentence["endings"][1:]]


def test_a_stream_that_cannot_begin_is_a_plain_refusal(server: Running) -> None:
    reply = server.post("/translate/stream", q=SENTENCE, target="xx")
    assert (reply.status, list(reply.json)) == (400, ["error"])


@pytest.mark.parametrize(
    ("error", "message"),
    [(ConfigError("shorten it"), "shorten it"), (ModelFileError("a secret"), OUR_FAULT)],
)
def test_whose_fault_it_is_decides_what_is_told(
    translator: Translator, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(translator.searcher.stepper, "step", fail)
    with running({"mine": translator}) as server:
        plain = server.post("/translate", q=SENTENCE)
        assert plain.status == (400 if message != OUR_FAULT else 500)
        stream = server.post("/translate/stream", q=SENTENCE)
    assert plain.json == {"error": message}
    assert events(stream.content) == [("error", {"error": message})]
