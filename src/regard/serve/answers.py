"""What is answered: the body of every answer and event, as the OpenAPI document shows it."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from regard.serve.requests import examples


class ErrorAnswer(BaseModel):
    """Any status from 400 on."""

    model_config = examples({"error": "target: 'xx' is not served here; there is: en"})

    error: str


_REASONS = {
    400: "The body is malformed, or asks for what is not served.",
    403: "The API key is missing or not known.",
    404: "There is no such model.",
    413: "Too much at once.",
    415: "The body is neither JSON nor a form.",
    429: "Too many requests wait; see Retry-After.",
    503: "There was no answer in time; see Retry-After.",
}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These statuses as the OpenAPI document describes them; all of them unless told otherwise."""
    return {
        status: {"model": ErrorAnswer, "description": reason}
        for status, reason in _REASONS.items()
        if status in statuses or not statuses
    }


class Detection(BaseModel):
    """A language and how sure it is, in percent."""

    model_config = examples({"language": "fr", "confidence": 99.6})

    language: str
    confidence: float = Field(ge=0, le=100)


class Sentence(BaseModel):
    """A sentence and its translation."""

    source: str
    text: str
    score: float = Field(description="log-probability over length penalty")
    log_probs: list[float] = Field(description="of each piece and, last, of the end")
    source_pieces: list[str]
    pieces: list[str]
    source_words: list[str] = []
    words: list[str] = []
    alignment: list[tuple[int, int]] = Field(default=[], description="(source word, target word)")


class Detail(BaseModel):
    """A text, sentence by sentence."""

    text: str
    score: float
    num_cut: int = Field(description="sentences too long for the model, translated in parts")
    sentences: list[Sentence]


class TranslateAnswer(BaseModel):
    """A list for a list, and one for one."""

    model_config = examples(
        {"translatedText": "Jane visits Africa in September.", "model": "mine"},
    )

    translatedText: str | list[str]  # noqa: N815 LibreTranslate's name
    model: str
    detectedLanguage: Detection | list[Detection] | None = Field(  # noqa: N815
        default=None, description='where source was "auto"'
    )
    alternatives: list[str] | list[list[str]] | None = Field(
        default=None, description="if asked for"
    )
    details: list[Detail] | None = Field(
        default=None, description="if asked for, one a text; of html, one a stretch between tags"
    )


class AttendedSentence(Sentence):
    """A sentence and where the model looked while it translated it."""

    attention: dict[str, Any] = Field(description="as `regard.lens.wire` packs it")
    floats: dict[str, Any] | None = Field(
        default=None, description="pieces, and for encoder, decoder and cross the weights L H T S"
    )


class AttendAnswer(BaseModel):
    """One record of attention a sentence."""

    text: str
    model: str
    sentences: list[AttendedSentence]


class LanguageAnswer(BaseModel):
    """A language, and those that it can be translated into."""

    model_config = examples({"code": "fr", "name": "French", "targets": ["en"]})

    code: str
    name: str
    targets: list[str]


class ModelAnswer(BaseModel):
    """A model that is served."""

    model_config = examples(
        {
            "name": "mine",
            "source": "fr",
            "target": "en",
            "parameters": 1_500_000,
            "beam": 4,
            "max_pieces": 100,
        }
    )

    name: str
    source: str
    target: str
    parameters: int
    beam: int = Field(description="unless a request says otherwise")
    max_pieces: int | None = Field(description="a longer sentence is translated in parts")


class RunAnswer(BaseModel):
    """A training whose log can be looked at."""

    model_config = examples({"name": "mine"})

    name: str


class RoadSystem(BaseModel):
    """A system: how good, for how much arithmetic."""

    name: str
    task: str = Field(description="corpus and languages; only scores of one task are comparable")
    bleu: float
    flops: float | None = Field(description="of its training; null where none are known")
    is_measured: bool = Field(description="here, by `regard road`; else by the paper")
    title: str = Field(default="", description="the name in full")
    sentence: str = Field(default="", description="that every system of the race was shown")
    translation: str = Field(default="", description="of it")
    attention: dict[str, Any] | None = Field(
        default=None, description="its alignment in words, as `regard.lens.wire` packs it"
    )
    model: str | None = Field(default=None, description="the name to ask it by, if it is served")


class RoadAnswer(BaseModel):
    """The road to the Transformer, a system a stop."""

    model_config = examples(
        {
            "systems": [
                {
                    "name": "gru",
                    "task": "phrasebook, fr → en",
                    "bleu": 61.5,
                    "flops": 2.1e13,
                    "is_measured": True,
                    "title": "GRU encoder-decoder",
                    "sentence": "Où est la gare ?",
                    "translation": "Where is the station?",
                    "attention": None,
                    "model": None,
                },
                {
                    "name": "Transformer, base",
                    "task": "WMT 2014, en → de",
                    "bleu": 27.3,
                    "flops": 3.3e18,
                    "is_measured": False,
                },
            ]
        }
    )

    systems: list[RoadSystem]


class HealthAnswer(BaseModel):
    """Whether every model works."""

    model_config = examples({"status": "ok", "version": "0.1.0", "models": 1, "waiting": 0})

    status: Literal["ok", "failing"]
    version: str
    models: int
    waiting: int = Field(description="requests that are not answered yet")


class SettingsLanguage(BaseModel):
    code: str
    name: str


class SettingsLanguages(BaseModel):
    source: SettingsLanguage
    target: SettingsLanguage


class SettingsAnswer(BaseModel):
    """What LibreTranslate's clients ask before they show themselves; the names are its."""

    apiKeys: bool  # noqa: N815
    charLimit: int  # noqa: N815
    filesTranslation: bool  # noqa: N815
    frontendTimeout: int  # noqa: N815
    keyRequired: bool  # noqa: N815
    language: SettingsLanguages
    suggestions: bool
    supportedFilesFormat: list[str]  # noqa: N815


# ------------------------------------------------------------------------------ events


class RivalEvent(BaseModel):
    """A piece that might have come."""

    piece: str
    probability: float


class NodeEvent(BaseModel):
    """A beginning that the search kept; see `regard.decoding.trace`."""

    id: int
    parent: int = Field(description="0 is the start")
    piece: str
    probability: float = Field(description="of the piece, given what stands before it")
    log_prob: float = Field(description="of the whole beginning")
    rivals: list[RivalEvent]


class StepEvent(BaseModel):
    """`event: step`: the beginnings kept, best first. At the end of a sentence its ends."""

    sentence: int
    step: int
    text: str = Field(description="the best beginning so far")
    is_end: bool
    nodes: list[NodeEvent]


class Ending(BaseModel):
    """A finished sentence: its text, its score, and the node in which it ended."""

    text: str
    score: float
    node: int


class SentenceEvent(BaseModel):
    """`event: sentence`: a sentence is done; the best ending comes first."""

    sentence: int
    source: str
    source_pieces: list[str]
    pieces: list[str]
    endings: list[Ending]
