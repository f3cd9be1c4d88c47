"""Corpora that others have published, downloaded or taken from a folder, verified and split.

multi30k   image captions in English, German, French and Czech (Elliott et al. 2016). Written as
           published, with test2016 as the test. No licence is stated for the text.
tatoeba    short everyday sentences, English with French or German, by the people of tatoeba.org,
           collected by manythings.org. CC-BY 2.0 FR. A sentence often has several translations, so
           it is split by sentence: no source and no target, whatever its case and spacing, is in
           two splits. No-break spaces become plain ones.

A file is known by the SHA-256 of its text, unpacked. A download with another sum is refused; a
local file with another sum is used, with a warning.
"""

import gzip
import hashlib
import http.client
import io
import random
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.data.check import fold
from regard.data.corpus import Example, Splits, read_pairs, replacing
from regard.errors import ConfigError, DataError

_LARGEST_TEXT = 1 << 30  # bytes; what unpacks to more is not one of these corpora
_CHUNK = 1 << 16

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A text file that a corpus is made of.

    Attributes:
        name: of the local file, which may also be gzipped.
        sha256: of the text.
        addresses: where to download it, the best first; none if it is only found in folders.
        unpack: from the bytes downloaded to the text.
    """

    name: str
    sha256: str
    addresses: tuple[str, ...]
    unpack: Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Obtained:
    """A corpus in three splits, and what a reader should know about it."""

    splits: Splits
    notes: tuple[str, ...]


# --------------------------------------------------------------------------------------------------
# Multi30k
# --------------------------------------------------------------------------------------------------

MULTI30K_SUMS = {
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.fr": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "train.cs": "2be68b38c8d586ff4f54eb13cc6e1baaaa053695b3f070d3038303a47f2268da",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.fr": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "val.cs": "d53827e469b0a1ca8d57e9e26b2b64c4bc4b33f5479c7b03ae87ae5c882c3e33",
    "test2016.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test2016.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test2016.fr": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
    "test2016.cs": "45adb85f688de8407fddcbe1b36dca15d12aab868149b337e2576f2d6d2ff8d8",
}
_MULTI30K_LANGUAGES = ("en", "de", "fr", "cs")


@dataclass(frozen=True, kw_only=True)
class Multi30k:
    """Captions of the same pictures, line by line in four languages."""

    address: str = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
    sums: Mapping[str, str] = field(default_factory=lambda: MULTI30K_SUMS)
    pairs: Sequence[Pair] = tuple(
        (source, target)
        for source in _MULTI30K_LANGUAGES
        for target in _MULTI30K_LANGUAGES
        if source != target
    )

    def wanted(self, pair: Pair) -> Sequence[Wanted]:
        remote = {"train": "train", "val": "val", "test2016": "test_2016_flickr"}
        return [
            Wanted(
                name := f"{split}.{language}",
                self.sums[name],
                (f"{self.address}/{remote[split]}.{language}.gz",),
                _gunzip,
            )
            for split in remote
            for language in pair
        ]

    def split(self, pair: Pair, files: Mapping[str, Path]) -> Obtained:
        train, valid, test = (
            list(read_pairs([files[f"{split}.{language}"] for language in pair]))
            for split in ("train", "val", "test2016")
        )
        return Obtained(Splits(train, valid, test), ("test is test2016 (Flickr)",))


# --------------------------------------------------------------------------------------------------
# Tatoeba
# --------------------------------------------------------------------------------------------------

TATOEBA_SUMS = {
    "train.en-fr.tsv": "0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
    "train.en-de.tsv": "a79c90b3cd3102decffa49cc00fb6f20023974f2ae5c4782515bebe133fcc07b",
    "dev.en-fr.tsv": "3029e72f3ee718096e05486c625450680567bddefafe796cc2c3b71755f2688d",
    "dev.en-de.tsv": "ca2518dd792eb56796f33c0745b5a231db067f4f142a1231389bb2286383ade1",
}
TATOEBA_ADDRESSES = {
    "fr": (
        "https://raw.githubusercontent.com/modelexlab/data/"
        "adddaf33ac35572bcfeb421efec29435e7ea9332/fra-eng.zip",
        "https://www.manythings.org/anki/fra-eng.zip",
    ),
    "de": (
        "https://raw.githubusercontent.com/rioyshky/translation/"
        "de48b7027f7318d77010a6e08ed928c10748c23d/deu-eng.zip",
        "https://www.manythings.org/anki/deu-eng.zip",
    ),
}
_HELD_OUT = 2_000


@dataclass(frozen=True, kw_only=True)
class Tatoeba:
    """Pairs of short sentences, many of them with several translations.

    manythings.org replaces its archives every few months; the sums are those of one edition, of
    which others keep copies, so these are asked first.
    """

    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: TATOEBA_ADDRESSES)
    sums: Mapping[str, str] = field(default_factory=lambda: TATOEBA_SUMS)
    pairs: Sequence[Pair] = (("en", "fr"), ("fr", "en"), ("en", "de"), ("de", "en"))

    def wanted(self, pair: Pair) -> Sequence[Wanted]:
        other = pair[0] if pair[1] == "en" else pair[1]
        train, dev = f"train.en-{other}.tsv", f"dev.en-{other}.tsv"
        return [
            Wanted(train, self.sums[train], self.addresses[other], _two_columns),
            Wanted(dev, self.sums[dev], (), _two_columns),
        ]

    def split(self, pair: Pair, files: Mapping[str, Path]) -> Obtained:
        train, *dev = (
            [_directed(example, pair) for example in read_pairs([files[name.name]])]
            for name in self.wanted(pair)
            if name.name in files
        )
        test = dev[0] if dev else []
        splits, num_shared = split_by_sentence(train, test, seed=0)
        notes = ["no-break spaces have become plain ones"]
        if not dev:
            notes.append("test is cut from the training file; scores differ from those on dev")
        if num_shared:
            notes.append(f"{num_shared:,} pairs that share a sentence with test are left out")
        return Obtained(splits, tuple(notes))


def split_by_sentence(
    train: Iterable[Example], test: Sequence[Example], *, seed: int
) -> tuple[Splits, int]:
    """Cut a validation set off so that no sentence, on either side, is in two splits.

    Only a pair whose two sentences stand in no other pair can move without leaving a translation
    of itself behind, so those are what valid is drawn from; without a given test, test as well.
    Also says how many training pairs were left out because test has one of their sentences.
    """
    sources = {fold(pair.source) for pair in test}
    targets = {fold(pair.target) for pair in test}
    distinct = list(dict.fromkeys(train))
    pairs = [
        pair
        for pair in distinct
        if fold(pair.source) not in sources and fold(pair.target) not in targets
    ]
    source_counts = Counter(fold(pair.source) for pair in pairs)
    target_counts = Counter(fold(pair.target) for pair in pairs)
    alone = [
        pair
        for pair in pairs
        if source_counts[fold(pair.source)] == 1 and target_counts[fold(pair.target)] == 1
    ]
    num_held_out = min(_HELD_OUT, len(alone) // 10)
    drawn = random.Random(seed).sample(alone, num_held_out if test else 2 * num_held_out)
    valid, rest = drawn[:num_held_out], drawn[num_held_out:]
    held_out = set(drawn)
    kept = [pair for pair in pairs if pair not in held_out]
    return Splits(kept, valid, list(test) or rest), len(distinct) - len(pairs)


def _directed(example: Example, pair: Pair) -> Example:
    english, other = " ".join(example.source.split()), " ".join(example.target.split())
    return Example(english, other) if pair[0] == "en" else Example(other, english)


Corpus = Multi30k | Tatoeba
CORPORA: Mapping[str, Corpus] = {"multi30k": Multi30k(), "tatoeba": Tatoeba()}

# --------------------------------------------------------------------------------------------------
# Getting the files
# --------------------------------------------------------------------------------------------------


def parse_pair(corpus: Corpus, pair: str) -> Pair:
    """The languages in "en-de".

    Raises:
        ConfigError: the corpus does not have this pair.
    """
    known = {f"{source}-{target}": (source, target) for source, target in corpus.pairs}
    if pair not in known:
        raise ConfigError(f"no such language pair: {pair}; choose one of {', '.join(known)}")
    return known[pair]


def get_local(corpus: Corpus, pair: Pair, folder: Path, warn: Callable[[str], None]) -> Obtained:
    """Make a corpus from a folder that already holds its files.

    Raises:
        DataError: a file that the corpus needs is not there.
    """
    files: dict[str, Path] = {}
    for wanted in corpus.wanted(pair):
        candidates = [folder / wanted.name, folder / f"{wanted.name}.gz"]
        path = next((path for path in candidates if path.is_file()), None)
        if path is None:
            if not wanted.addresses:
                continue
            raise DataError(f"{folder / wanted.name} does not exist; the corpus needs it")
        text = path.read_bytes()
        if (
            hashlib.sha256(_gunzip(text) if path.suffix == ".gz" else text).hexdigest()
            != wanted.sha256
        ):
            warn(f"{path} is not the published text (its SHA-256 differs); using it as it is")
        files[wanted.name] = path
    return corpus.split(pair, files)


Progress = Callable[[str, int, int], None]
"""Told the name of a file, how many bytes of it are here, and of how many (0 if unknown)."""


@dataclass(frozen=True, kw_only=True)
class Downloader:
    """Fetches files over HTTP, and goes on where it was cut off.

    Attributes:
        timeout: seconds without a byte before the connection counts as lost.
        pauses: seconds to wait before each further attempt.
    """

    timeout: float = 30.0
    pauses: tuple[float, ...] = (1.0, 5.0)

    def fetch(self, address: str, partial: Path, progress: Progress) -> bytes:
        """The bytes at an address; what has arrived of them is kept in `partial` until all have.

        Raises:
            DataError: they did not come, after as many attempts as there are pauses and one.
        """
        for pause in (*self.pauses, None):
            try:
                self._continue(address, partial, progress)
                break
            except urllib.error.HTTPError as error:
                error.close()
                reason, is_final = f"HTTP {error.code} {error.reason}", error.code < 500
            except (OSError, http.client.HTTPException) as error:
                reason, is_final = str(getattr(error, "reason", error)) or repr(error), False
            if pause is None or is_final:
                raise DataError(
                    f"{address} cannot be downloaded: {reason}; try again, or get the files by "
                    "hand and name their folder with --from"
                )
            time.sleep(pause)
        content = partial.read_bytes()
        partial.unlink()
        return content

    def _continue(self, address: str, partial: Path, progress: Progress) -> None:
        start = partial.stat().st_size if partial.exists() else 0
        request = urllib.request.Request(address, headers={"User-Agent": "regard"})
        if start:
            request.add_header("Range", f"bytes={start}-")
        try:
            response = urllib.request.urlopen(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            if not start or error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                raise
            error.close()
            partial.unlink()  # nothing follows what is here: it may be whole, or another file's
            self._continue(address, partial, progress)
            return
        with response:
            is_continued = response.status == http.HTTPStatus.PARTIAL_CONTENT
            arrived = start if is_continued else 0
            length = response.headers.get("Content-Length")
            total = arrived + int(length) if length else 0
            with partial.open("ab" if is_continued else "wb") as stream:
                while chunk := response.read(_CHUNK):
                    stream.write(chunk)
                    arrived += len(chunk)
                    progress(address.rsplit("/", 1)[-1], arrived, total)
        if total and arrived < total:
            raise http.client.IncompleteRead(b"", total - arrived)


def get_remote(
    corpus: Corpus, pair: Pair, folder: Path, downloader: Downloader, progress: Progress
) -> Obtained:
    """Download a corpus; its texts stay in `folder`, so that a second call needs no network.

    Raises:
        DataError: a file cannot be downloaded, or is not the one that was published.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    for wanted in corpus.wanted(pair):
        if not wanted.addresses:
            continue
        path = folder / wanted.name
        files[wanted.name] = path
        if path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == wanted.sha256:
            continue
        for address in wanted.addresses:
            partial = folder / f"{wanted.name}.{_short_sum(address)}.partial"
            try:
                text = _verified(wanted, address, downloader.fetch(address, partial, progress))
                break
            except DataError:
                if address == wanted.addresses[-1]:
                    raise
        with replacing([path]) as (stream,):
            stream.write(text)
    return corpus.split(pair, files)


def _verified(wanted: Wanted, address: str, content: bytes) -> bytes:
    """The text inside a download, if it is the one that was published."""
    try:
        text = wanted.unpack(content)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"{address} is damaged: {error}; try again") from error
    found = hashlib.sha256(text).hexdigest()
    if found != wanted.sha256:
        raise DataError(
            f"{address} has another text than expected (SHA-256 {found[:12]}…, not "
            f"{wanted.sha256[:12]}…), perhaps a newer edition; to use it all the same, unpack it "
            f"to {wanted.name} in a folder and name that with --from"
        )
    return text


def _short_sum(address: str) -> str:
    return hashlib.sha256(address.encode()).hexdigest()[:8]


def _gunzip(content: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        return _bounded(stream.read(_LARGEST_TEXT + 1))


def _two_columns(content: bytes) -> bytes:
    """The two sentences of each line of manythings.org's archive, without the attribution."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [
            name
            for name in archive.namelist()
            if name.endswith(".txt") and not name.rsplit("/", 1)[-1].startswith(("_", "."))
        ]
        if len(names) != 1:
            raise zipfile.BadZipFile(f"one text expected in the archive, found {names}")
        with archive.open(names[0]) as stream:
            text = _bounded(stream.read(_LARGEST_TEXT + 1))
    lines = text.replace(b"\r\n", b"\n").split(b"\n")
    return b"".join(b"\t".join(line.split(b"\t")[:2]) + b"\n" for line in lines if line)


def _bounded(text: bytes) -> bytes:
    if len(text) > _LARGEST_TEXT:
        raise OSError(f"it unpacks to more than {_LARGEST_TEXT:,} bytes")
    return text
