"""Published corpora: from a folder, and from a server of our own on this machine."""

import gzip
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from regard.data.check import fold
from regard.data.corpus import Example, Splits
from regard.data.public import (
    CORPORA,
    Downloader,
    Multi30k,
    Obtained,
    Tatoeba,
    get_local,
    get_remote,
    parse_pair,
    split_by_sentence,
)
from regard.errors import ConfigError, DataError

EN_DE = ("en", "de")
QUICK = Downloader(timeout=5.0, pauses=(0.0, 0.0))


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def captions(split: str, language: str, count: int) -> bytes:
    return "".join(f"{language} caption {n} of {split}.\n" for n in range(count)).encode()


MULTI30K = {
    f"{split}.{language}": captions(split, language, count)
    for split, count in (("train", 3000), ("val", 7), ("test2016", 5))
    for language in ("en", "de")
}
TATOEBA = {
    "train.en-fr.tsv": "".join(
        [
            *(f"Sentence {n}.\tPhrase\u202f{n}.\n" for n in range(100)),
            "Run!\tCours\u00a0!\nRun!\tCourez\u202f!\nrun!\tFile !\nGo!\tfile  !\n",
            "Sentence for dev.\tUne autre phrase.\n",
        ]
    ).encode(),
    "dev.en-fr.tsv": b"Sentence for dev.\tPhrase pour dev.\nHello.\tBonjour.\n",
}


@dataclass
class Server:
    """A web server whose files and misbehaviour a test decides."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    cut_after: int = 0
    """Bytes after which the first answer to each path stops short; 0 for never."""
    errors: list[int] = field(default_factory=list)
    """Statuses to answer with before anything else."""
    knows_ranges: bool = True
    ranges: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.ranges.append(self.headers.get("Range", ""))
            is_first = self.path not in state.requests
            state.requests.append(self.path)
            if state.errors:
                self.send_error(state.errors.pop(0))
                return
            if self.path not in state.files:
                self.send_error(404)
                return
            content, start = state.files[self.path], 0
            wanted = self.headers.get("Range")
            if wanted and state.knows_ranges:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
                if start >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206)
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            end = state.cut_after if state.cut_after and is_first else len(content)
            self.wfile.write(content[start:end])

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        state = Server(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        http.shutdown()
        thread.join()


def silent(name: str, arrived: int, total: int) -> None:
    pass


@pytest.fixture
def multi30k(server: Server) -> Multi30k:
    remote = {"train": "train", "val": "val", "test2016": "test_2016_flickr"}
    for name, content in MULTI30K.items():
        split, language = name.split(".")
        server.files[f"/raw/{remote[split]}.{language}.gz"] = gzip.compress(content)
    sums = {name: sha256(content) for name, content in MULTI30K.items()}
    return Multi30k(address=f"{server.address}/raw", sums=sums)


def archive(name: str, text: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("_about.txt", "Thanks.")
        file.writestr(name, text)
    return stream.getvalue()


@pytest.fixture
def tatoeba(server: Server) -> Tatoeba:
    attributed = TATOEBA["train.en-fr.tsv"].replace(b"\n", b"\tCC-BY 2.0 (France)\r\n")
    server.files["/anki/fra-eng.zip"] = archive("fra.txt", attributed)
    return Tatoeba(
        addresses={"fr": (f"{server.address}/copy.zip", f"{server.address}/anki/fra-eng.zip")},
        sums={name: sha256(content) for name, content in TATOEBA.items()},
    )


def put(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def local(corpus: Multi30k | Tatoeba, folder: Path, pair: tuple[str, str]) -> Obtained:
    def fail(message: str) -> None:
        raise AssertionError(message)

    return get_local(corpus, pair, folder, fail)


def test_a_folder_and_a_download_give_the_same_corpus(multi30k: Multi30k, tmp_path: Path) -> None:
    put(tmp_path / "local", MULTI30K)
    downloaded = get_remote(multi30k, EN_DE, tmp_path / "remote", QUICK, silent)
    assert downloaded == local(multi30k, tmp_path / "local", EN_DE)
    assert len(downloaded.splits.train) == 3000
    assert downloaded.splits.test[0] == Example(
        "en caption 0 of test2016.", "de caption 0 of test2016."
    )


def test_a_folder_may_hold_gzipped_files(multi30k: Multi30k, tmp_path: Path) -> None:
    packed = {f"{name}.gz": gzip.compress(content) for name, content in MULTI30K.items()}
    put(tmp_path / "packed", packed)
    put(tmp_path / "plain", MULTI30K)
    assert local(multi30k, tmp_path / "packed", EN_DE) == local(multi30k, tmp_path / "plain", EN_DE)


def test_a_pair_can_be_turned_round(multi30k: Multi30k, tmp_path: Path) -> None:
    put(tmp_path, MULTI30K)
    forth, back = (local(multi30k, tmp_path, pair).splits for pair in (EN_DE, ("de", "en")))
    assert back.test == [Example(pair.target, pair.source) for pair in forth.test]


def test_a_local_file_with_another_sum_is_used_with_a_warning(
    multi30k: Multi30k, tmp_path: Path
) -> None:
    put(tmp_path, MULTI30K | {"val.en": captions("other", "en", 7)})
    warnings: list[str] = []
    obtained = get_local(multi30k, EN_DE, tmp_path, warnings.append)
    assert obtained.splits.valid[0].source == "en caption 0 of other."
    assert warnings == [
        f"{tmp_path / 'val.en'} is not the published text (its SHA-256 differs); using it as it is"
    ]


def test_a_local_file_that_is_missing_is_named(multi30k: Multi30k, tmp_path: Path) -> None:
    put(tmp_path, {name: text for name, text in MULTI30K.items() if name != "val.de"})
    with pytest.raises(DataError, match=r"val\.de does not exist; the corpus needs it"):
        local(multi30k, tmp_path, EN_DE)


def test_a_download_that_breaks_off_is_continued(
    multi30k: Multi30k, server: Server, tmp_path: Path
) -> None:
    server.cut_after = 100
    put(tmp_path / "local", MULTI30K)
    downloaded = get_remote(multi30k, EN_DE, tmp_path / "remote", QUICK, silent)
    assert downloaded == local(multi30k, tmp_path / "local", EN_DE)
    assert "bytes=100-" in server.ranges


def test_a_download_that_breaks_off_for_good_is_continued_by_the_next_call(
    multi30k: Multi30k, server: Server, tmp_path: Path
) -> None:
    server.cut_after = 100
    with pytest.raises(DataError, match="cannot be downloaded"):
        get_remote(multi30k, EN_DE, tmp_path, replace(QUICK, pauses=()), silent)
    get_remote(multi30k, EN_DE, tmp_path, QUICK, silent)
    assert server.ranges[:2] == ["", "bytes=100-"]


def test_a_server_without_ranges_starts_again(
    multi30k: Multi30k, server: Server, tmp_path: Path
) -> None:
    server.cut_after, server.knows_ranges = 100, False
    assert len(get_remote(multi30k, EN_DE, tmp_path, QUICK, silent).splits.train) == 3000


def test_a_partial_file_that_nothing_follows_is_downloaded_anew(
    server: Server, tmp_path: Path
) -> None:
    server.files["/a"] = b"right"
    (tmp_path / "a.partial").write_bytes(b"wrong")
    assert QUICK.fetch(f"{server.address}/a", tmp_path / "a.partial", silent) == b"right"


def test_what_was_downloaded_is_not_downloaded_again(
    multi30k: Multi30k, server: Server, tmp_path: Path
) -> None:
    get_remote(multi30k, EN_DE, tmp_path, QUICK, silent)
    server.files.clear()
    get_remote(multi30k, EN_DE, tmp_path, QUICK, silent)
    assert len(server.requests) == 6


def test_a_server_in_trouble_is_asked_again(
    multi30k: Multi30k, server: Server, tmp_path: Path
) -> None:
    server.errors = [503, 500]
    assert get_remote(multi30k, EN_DE, tmp_path, QUICK, silent).splits.train


def test_a_server_that_does_not_have_the_file_is_not_asked_again(
    multi30k: Multi30k, server: Server, tmp_path: Path
) -> None:
    server.files.clear()
    with pytest.raises(DataError) as caught:
        get_remote(multi30k, EN_DE, tmp_path, QUICK, silent)
    assert str(caught.value) == (
        f"{server.address}/raw/train.en.gz cannot be downloaded: HTTP 404 Not Found; try again, or "
        "get the files by hand and name their folder with --from"
    )
    assert len(server.requests) == 1


def test_a_download_with_another_sum_is_refused_and_not_kept(
    multi30k: Multi30k, server: Server, tmp_path: Path
) -> None:
    server.files["/raw/val.de.gz"] = gzip.compress(b"something else\n")
    with pytest.raises(DataError, match=r"val\.de\.gz has another text than expected"):
        get_remote(multi30k, EN_DE, tmp_path, QUICK, silent)
    assert not list(tmp_path.glob("val.de*"))


@pytest.mark.parametrize(
    "damage", [b"no gzip at all", gzip.compress(b"x" * 999)[:20]], ids=["no gzip", "cut off"]
)
def test_a_damaged_download_is_named(
    damage: bytes, multi30k: Multi30k, server: Server, tmp_path: Path
) -> None:
    server.files["/raw/train.en.gz"] = damage
    with pytest.raises(DataError, match=r"train\.en\.gz is damaged"):
        get_remote(multi30k, EN_DE, tmp_path, QUICK, silent)


def test_progress_ends_at_the_total(multi30k: Multi30k, server: Server, tmp_path: Path) -> None:
    seen: dict[str, tuple[int, int]] = {}

    def note(name: str, arrived: int, total: int) -> None:
        seen[name] = (arrived, total)

    get_remote(multi30k, EN_DE, tmp_path, QUICK, note)
    size = len(server.files["/raw/train.en.gz"])
    assert seen["train.en.gz"] == (size, size)


def test_the_second_address_is_asked_when_the_first_fails(
    tatoeba: Tatoeba, server: Server, tmp_path: Path
) -> None:
    get_remote(tatoeba, ("en", "fr"), tmp_path, QUICK, silent)
    assert server.requests == ["/copy.zip", "/anki/fra-eng.zip"]


def test_the_second_address_is_asked_when_the_first_has_another_text(
    tatoeba: Tatoeba, server: Server, tmp_path: Path
) -> None:
    server.files["/copy.zip"] = archive("fra.txt", b"Go.\tVa !\n")
    get_remote(tatoeba, ("en", "fr"), tmp_path, QUICK, silent)
    assert server.requests == ["/copy.zip", "/anki/fra-eng.zip"]


def test_attribution_and_line_ends_do_not_change_the_text(tatoeba: Tatoeba, tmp_path: Path) -> None:
    get_remote(tatoeba, ("en", "fr"), tmp_path, QUICK, silent)
    assert (tmp_path / "train.en-fr.tsv").read_bytes() == TATOEBA["train.en-fr.tsv"]


def shared(splits: Splits) -> set[str]:
    """Sentences, folded, that two splits have in common on the same side."""
    sides = [
        [{fold(getattr(pair, side)) for pair in split} for side in ("source", "target")]
        for split in (splits.train, splits.valid, splits.test)
    ]
    return {
        sentence
        for first in range(3)
        for second in range(first)
        for side in range(2)
        for sentence in sides[first][side] & sides[second][side]
    }


@pytest.mark.parametrize("is_remote", [False, True])
def test_no_sentence_of_tatoeba_is_in_two_splits(
    is_remote: bool, tatoeba: Tatoeba, tmp_path: Path
) -> None:
    pair = ("fr", "en")
    obtained = (
        get_remote(tatoeba, pair, tmp_path, QUICK, silent)
        if is_remote
        else local(tatoeba, put(tmp_path, TATOEBA), pair)
    )
    assert obtained.splits.valid
    assert obtained.splits.test
    assert not shared(obtained.splits)


def test_sentences_with_several_translations_stay_in_training() -> None:
    train = [Example("Run!", "Cours !"), Example("run!", "File !"), Example("Go!", "file !")]
    alone = [Example(f"s {n}", f"t {n}") for n in range(40)]
    splits, _ = split_by_sentence([*train, *alone], [], seed=0)
    assert splits.train[:3] == train
    assert (len(splits.valid), len(splits.test)) == (4, 4)


def test_training_pairs_that_share_a_sentence_with_test_are_left_out_and_said(
    tatoeba: Tatoeba, tmp_path: Path
) -> None:
    obtained = local(tatoeba, put(tmp_path, TATOEBA), ("en", "fr"))
    assert "1 pairs that share a sentence with test are left out" in obtained.notes
    assert obtained.splits.test[1] == Example("Hello.", "Bonjour.")


def test_a_test_cut_from_the_training_file_is_said(tatoeba: Tatoeba, tmp_path: Path) -> None:
    obtained = get_remote(tatoeba, ("en", "fr"), tmp_path, QUICK, silent)
    assert any("test is cut from the training file" in note for note in obtained.notes)


def test_tatoeba_has_no_no_break_spaces(tatoeba: Tatoeba, tmp_path: Path) -> None:
    splits = local(tatoeba, put(tmp_path, TATOEBA), ("en", "fr")).splits
    text = "".join(pair.target for pair in (*splits.train, *splits.valid, *splits.test))
    assert not set(text) & {"\u00a0", "\u202f"}
    assert Example("Run!", "Courez !") in splits.train


@pytest.mark.parametrize(
    ("name", "pair"), [("multi30k", "en-xx"), ("multi30k", "en-en"), ("tatoeba", "fr-de")]
)
def test_an_unknown_pair_is_refused_with_the_known_ones(name: str, pair: str) -> None:
    with pytest.raises(ConfigError, match=f"no such language pair: {pair}; choose one of en-"):
        parse_pair(CORPORA[name], pair)


@pytest.mark.parametrize("name", CORPORA)
def test_every_pair_of_every_corpus_has_sums_and_addresses(name: str) -> None:
    corpus = CORPORA[name]
    for pair in corpus.pairs:
        wanted = corpus.wanted(pair)
        assert all(len(file.sha256) == 64 for file in wanted)
        assert all(url.startswith("https://") for file in wanted for url in file.addresses)
        assert wanted[0].addresses
