"""A running server that tests share."""

import copy
from collections.abc import Iterator

import pytest

from regard.api import Translator
from tests.serve.running import Running, running


@pytest.fixture(scope="session")
def server(translator: Translator) -> Iterator[Running]:
    """Fr → en under the name `mine`, with everything as it is by default."""
    with running({"mine": translator}) as found:
        yield found


@pytest.fixture(scope="session")
def backwards(translator: Translator) -> Translator:
    """The same model, which says that it translates the other way."""
    other = copy.copy(translator)
    other.source_language, other.target_language = "en", "fr"
    return other
