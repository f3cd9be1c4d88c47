"""What travels: the requests and answers of every route, as the OpenAPI document shows them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Source = Annotated[str, Field(max_length=35, description='a code such as fr, or "auto"')]
Target = Annotated[
    str | None, Field(max_length=35, description="a code; needed unless only one fits")
]
ModelName = Annotated[
    str | None, Field(max_length=64, description="of GET /models; else by the languages")
]
ApiKey = Annotated[
    str | None, Field(max_length=1000, description="or the header Authorization: Bearer")
]
Beam = Annotated[int | None, Field(ge=1, description="1 is greedy; else the model's own")]
Prefix = Annotated[
    str, Field(max_length=2000, description="what each sentence's translation must begin with")
]


class Strict(BaseModel):
    """No field that is not known, no type taken for another."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _examples(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples)})


# ------------------------------------------------------------------------------ requests


class TranslateRequest(Strict):
    """LibreTranslate's fields, and four of our own: model, beam, prefix, details."""

    model_config = _examples(
        {"q": "Jane visite l'Afrique en septembre.", "source": "fr", "target": "en"},
        {"q": ["Où est la gare ?", "Merci."], "target": "en", "alternatives": 2},
    )

    q: str | list[str] = Field(description="a text or several, sentences or paragraphs")
    source: Source = "auto"
    target: Target = None
    format: Literal["text", "html"] = Field(default="text", description="html: tags are kept")
    alternatives: int = Field(default=0, ge=0, description="how many other translations to give")
    api_key: ApiKey = None
    model: ModelName = None
    beam: Beam = None
    prefix: Prefix = ""
    details: bool = Field(default=False, description="sentences, pieces, scores and word alignment")


class OneText(Strict):
    """What /attend and /translate/stream have in common."""

    q: str = Field(description="a text; each of its sentences is looked at")
    source: Source = "auto"
    target: Target = None
    api_key: ApiKey = None
    model: ModelName = None
    beam: Beam = None
    prefix: Prefix = ""


class AttendRequest(OneText):
    """A text whose attention is wanted."""

    model_config = _examples({"q": "Jane visite l'Afrique en septembre.", "beam": 4})

    floats: bool = Field(default=False, description="the weights as numbers too, not only packed")


class StreamRequest(OneText):
    """A text whose decoding is to be followed."""

    model_config = _examples({"q": "Où est la gare ?", "beam": 4, "alternatives": 3, "rivals": 5})

    alternatives: int = Field(default=0, ge=0, description="how many other ends to give; see beam")
    rivals: int = Field(
        default=5, ge=0, le=50, description="tokens told that might have come instead"
    )


class DetectRequest(Strict):
    """A text whose language is wanted."""

    model_config = _examples({"q": "Où est la gare ?"})

    q: str
    api_key: ApiKey = None


Coordinate = Annotated[float, Field(ge=-1000, le=1000)]


class WeatherRequest(Strict):
    """A place on the map of weather stations."""

    model_config = _examples({"query": [0.1, -0.05]})

    query: list[Coordinate] = Field(min_length=2, max_length=2)


class ByHandRequest(Strict):
    """Three inputs of width four, to attend to one another."""

    model_config = _examples(
        {"inputs": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]], "score": "scaled"}
    )

    inputs: list[Annotated[list[Coordinate], Field(min_length=4, max_length=4)]] = Field(
        min_length=3, max_length=3
    )
    score: Literal["dot", "scaled"] = "scaled"


class MasksRequest(Strict):
    """Which masks to lay over the same scores."""

    model_config = _examples({"look_ahead": True, "padding": False})

    look_ahead: bool = True
    padding: bool = True


class HeadsRequest(OneText):
    """A sentence; what each head does with it is wanted."""

    model_config = _examples({"q": "Jane visite l'Afrique en septembre."})


class ContextsRequest(Strict):
    """Two sentences with one word in common."""

    model_config = _examples(
        {"first": "Jane voit un livre.", "second": "Elle cherche un livre.", "word": "livre"}
    )

    first: str
    second: str
    word: str
    api_key: ApiKey = None
    model: ModelName = None


# ------------------------------------------------------------------------------ answers


class ErrorAnswer(BaseModel):
    """Any status from 400 on."""

    model_config = _examples({"error": "target: 'xx' is not served here; there is: en"})

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

    model_config = _examples({"language": "fr", "confidence": 99.6})

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

    model_config = _examples(
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
    details: list[Detail] | None = Field(default=None, description="if asked for, one a text")


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

    model_config = _examples({"code": "fr", "name": "French", "targets": ["en"]})

    code: str
    name: str
    targets: list[str]


class ModelAnswer(BaseModel):
    """A model that is served."""

    model_config = _examples(
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

    model_config = _examples({"name": "mine"})

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

    model_config = _examples(
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

    model_config = _examples({"status": "ok", "version": "0.1.0", "models": 1, "waiting": 0})

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
