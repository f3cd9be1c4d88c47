"""What is asked: the body of every request, as the OpenAPI document shows it."""

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


def examples(*bodies: dict[str, Any]) -> ConfigDict:
    """What the OpenAPI document shows as examples."""
    return ConfigDict(json_schema_extra={"examples": list(bodies)})


class TranslateRequest(Strict):
    """LibreTranslate's fields, and four of our own: model, beam, prefix, details."""

    model_config = examples(
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
    """What the routes have in common that look at a single text."""

    q: str = Field(description="a text, a sentence or a paragraph")
    source: Source = "auto"
    target: Target = None
    api_key: ApiKey = None
    model: ModelName = None
    beam: Beam = None
    prefix: Prefix = ""


class AttendRequest(OneText):
    """A text whose attention is wanted."""

    model_config = examples({"q": "Jane visite l'Afrique en septembre.", "beam": 4})

    floats: bool = Field(default=False, description="the weights as numbers too, not only packed")


class StreamRequest(OneText):
    """A text whose decoding is to be followed."""

    model_config = examples({"q": "Où est la gare ?", "beam": 4, "alternatives": 3, "rivals": 5})

    alternatives: int = Field(default=0, ge=0, description="how many other ends to give; see beam")
    rivals: int = Field(
        default=5, ge=0, le=50, description="tokens told that might have come instead"
    )


class DetectRequest(Strict):
    """A text whose language is wanted."""

    model_config = examples({"q": "Où est la gare ?"})

    q: str
    api_key: ApiKey = None


Coordinate = Annotated[float, Field(ge=-1000, le=1000)]


class WeatherRequest(Strict):
    """A place on the map of weather stations."""

    model_config = examples({"query": [0.1, -0.05]})

    query: list[Coordinate] = Field(min_length=2, max_length=2)


class ByHandRequest(Strict):
    """Three inputs of width four, to attend to one another."""

    model_config = examples(
        {"inputs": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]], "score": "scaled"}
    )

    inputs: list[Annotated[list[Coordinate], Field(min_length=4, max_length=4)]] = Field(
        min_length=3, max_length=3
    )
    score: Literal["dot", "scaled"] = "scaled"


class MasksRequest(Strict):
    """Which masks to lay over the same scores."""

    model_config = examples({"look_ahead": True, "padding": False})

    look_ahead: bool = True
    padding: bool = True


class HeadsRequest(OneText):
    """A text; what each head does with its first sentence is wanted."""

    model_config = examples({"q": "Jane visite l'Afrique en septembre."})


class ContextsRequest(Strict):
    """Two sentences with one word in common."""

    model_config = examples(
        {"first": "Jane voit un livre.", "second": "Elle cherche un livre.", "word": "livre"}
    )

    first: str
    second: str
    word: str
    api_key: ApiKey = None
    model: ModelName = None
