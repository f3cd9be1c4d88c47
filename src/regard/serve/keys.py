"""API keys: read from a file, kept as digests, compared in constant time."""

import hashlib
import hmac
from collections.abc import Iterable
from pathlib import Path

from regard.bounded import read_bounded
from regard.errors import ConfigError, ModelFileError
from regard.serve.refusal import Refusal

MAX_FILE_BYTES = 1_000_000
MIN_LENGTH = 16


class Keys:
    """Who may ask; everybody where there are no keys."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._digests = [_digest(key) for key in keys]

    @property
    def are_required(self) -> bool:
        return bool(self._digests)

    def check(self, authorization: str | None, in_body: str | None = None) -> None:
        """Refuse a request without a key that is known.

        Args:
            authorization: the header, `Bearer KEY`.
            in_body: the field `api_key`, where LibreTranslate's clients have it.

        Raises:
            Refusal: 403, as LibreTranslate answers.
        """
        if not self.are_required:
            return
        scheme, _, in_header = (authorization or "").partition(" ")
        given = in_header.strip() if scheme.lower() == "bearer" else in_body
        if not given:
            raise Refusal(403, "an API key is needed: api_key, or the header Authorization: Bearer")
        digest = _digest(given)
        # Every key is compared, whether one has fitted already or not.
        if not sum(hmac.compare_digest(digest, known) for known in self._digests):
            raise Refusal(403, "this API key is not known")


def read_keys(path: Path) -> Keys:
    """One key a line; empty lines and those that begin with # are none.

    Raises:
        ConfigError: the file cannot be read or has no key, or a key is easily guessed.
    """
    try:
        lines = read_bounded(path, MAX_FILE_BYTES).decode().splitlines()
    except ModelFileError as error:
        raise ConfigError(str(error)) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8; write one key a line") from None
    keys = [line.strip() for line in lines]
    keys = [key for key in keys if key and not key.startswith("#")]
    if not keys:
        raise ConfigError(f"{path}: no key in it; write one a line")
    if min(map(len, keys)) < MIN_LENGTH:
        raise ConfigError(
            f"{path}: a key has fewer than {MIN_LENGTH} characters, which can be guessed; "
            "`openssl rand -hex 16` makes a good one"
        )
    return Keys(keys)


def _digest(key: str) -> bytes:
    """Of equal length for all keys, so that comparing tells nothing of theirs."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
