"""The body of a request, read strictly: JSON with one meaning, or a form."""

from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from regard.bounded import parse_json
from regard.serve.refusal import Refusal, left

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MAX_FIELDS = 100

Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: Request, kind: type[Body]) -> Body:
    """What the client asks for.

    Raises:
        Refusal: 400, it is malformed or does not fit; 415, it is neither JSON nor a form.
    """
    content_type = request.headers.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type not in (JSON, FORM):
        raise Refusal(415, f"Content-Type: send {JSON} or {FORM}")
    try:
        content = await request.body()
    except ClientDisconnect:
        raise left() from None
    try:
        if media_type == JSON:
            value = parse_json(content)
            if not isinstance(value, dict):
                raise ValueError("expected an object")
            return kind.model_validate(value)
        return kind.model_validate_strings(_parse_form(content))
    except ValidationError as error:  # its own text would repeat what was sent
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"][:1])
        raise Refusal(400, f"{where[:80]}: {first['msg'].lower()}") from None
    except ValueError as error:
        raise Refusal(400, f"the body is not understood: {error}") from None


def body_schema(kind: type[BaseModel], media_types: Sequence[str] = (JSON, FORM)) -> dict[str, Any]:
    """What the OpenAPI document says of such a body; lists of numbers do not fit into a form."""
    schema = {"schema": kind.model_json_schema()}
    content = dict.fromkeys(media_types, schema)
    return {"requestBody": {"required": True, "content": content}}


def _parse_form(content: bytes) -> dict[str, str]:
    """The fields of a form, each of which may stand there once."""
    pairs = parse_qsl(
        content.decode(),  # curl does not escape what is not ASCII
        keep_blank_values=True,
        strict_parsing=bool(content),
        errors="strict",
        max_num_fields=MAX_FIELDS,
    )
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field stands there twice")
    return fields
