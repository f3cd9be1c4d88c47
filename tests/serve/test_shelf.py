"""Models are found by name and language; what a client says is never a path."""

import hashlib
import hmac
import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import ConfigError
from regard.serve.keys import Keys, read_keys
from regard.serve.languages import language_name
from regard.serve.refusal import Refusal
from regard.serve.shelf import NAME, named_folders
from regard.serve.static import CONTENT_TYPES, INDEX, read_page, security_headers
from tests.serve.running import page_folder

KEY = "0123456789abcdef"


def test_a_folder_is_called_by_its_name_unless_it_is_given_another(tmp_path: Path) -> None:
    found = named_folders(
        ["runs/mine", "other=runs/mine", str(tmp_path / "x" / ".." / "y"), "a b=runs/third"],
        "--model",
    )
    assert found == {
        "mine": Path("runs/mine"),
        "other": Path("runs/mine"),
        "y": tmp_path / "x" / ".." / "y",
        "third": Path("a b=runs/third"),  # what stands before = is no name, so it is a folder's
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["a/m", "b/m"], "--model b/m: a/m is called m too; give another name with --model NAME=b"),
        (["runs/my model"], "'my model' is no name; give one of letters"),
        (["/"], "'' is no name"),
    ],
)
def test_names_that_cannot_be_are_one_line(given: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        named_folders(given, "--model")
    assert message in str(caught.value)


@given(st.from_regex(NAME, fullmatch=True))
def test_no_name_is_a_path(name: str) -> None:
    assert Path(name).name == name and name not in (".", "..")


@pytest.mark.parametrize("path", ["", ".", "..", "a/b", "a\\b", "/a", "a\0", "a\n", "a" * 65])
def test_no_path_is_a_name(path: str) -> None:
    assert not NAME.fullmatch(path)


def test_languages_have_names_or_their_code() -> None:
    assert (language_name("fr"), language_name("xx")) == ("French", "xx")


# ------------------------------------------------------------------------------ keys


def test_keys_are_read_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# ours\n\n  {KEY}  \n{KEY[::-1]}\n", "utf-8")
    keys = read_keys(path)
    keys.check(f"bearer {KEY}")
    keys.check(None, KEY[::-1])
    keys.check("Basic x", KEY)
    for header, body in ((None, None), ("Bearer", None), ("Bearer # ours", KEY), (None, "é\ud800")):
        with pytest.raises(Refusal) as caught:
            keys.check(header, body)
        assert caught.value.status == 403
    assert KEY not in repr(vars(keys))


def test_every_key_is_compared_in_constant_time_wherever_the_right_one_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[bytes] = []

    def compare(given: bytes, known: bytes) -> bool:
        assert len(given) == len(known)
        compared.append(known)
        return hmac.compare_digest(given, known)

    monkeypatch.setattr("regard.serve.keys.hmac", SimpleNamespace(compare_digest=compare))
    known = [f"{KEY}{n}" for n in range(3)]
    keys = Keys(known)
    for offered in (*known, KEY):
        compared.clear()
        with nullcontext() if offered in known else pytest.raises(Refusal):
            keys.check(f"Bearer {offered}")
        assert compared == [hashlib.sha256(key.encode()).digest() for key in known]


def test_without_keys_everybody_may_ask() -> None:
    Keys().check(None)
    assert not Keys().are_required


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no key in it; write one a line"),
        (b"# only this\n", "no key in it"),
        (b"short\n", "a key has fewer than 16 characters"),
        (b"\xff" * 20, "not UTF-8"),
        (None, "not found"),
    ],
)
def test_a_file_of_keys_that_will_not_do_is_one_line(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "keys"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        read_keys(path)


# ------------------------------------------------------------------------------ the page


def test_only_known_kinds_of_files_inside_the_folder_are_served(tmp_path: Path) -> None:
    files = {"index.html": "<p>", "js/a.js": "1", "notes.py": "2", "js/.hidden": "3"}
    folder = page_folder(tmp_path / "page", files)
    (tmp_path / "secret.js").write_text("4", "utf-8")
    (folder / "link.js").symlink_to(tmp_path / "secret.js")
    page = read_page(folder)
    assert list(page) == ["index.html", "js/a.js"]
    assert page["js/a.js"].content_type == "text/javascript; charset=utf-8"
    assert read_page(tmp_path / "absent") == {}


def test_the_page_is_what_its_documents_ask_for() -> None:
    page = read_page()
    assert {Path(name).suffix for name in page} == set(CONTENT_TYPES)
    assert not {"js/package.json", "exported.html", "css/exported.css", "js/exported.js"} & set(
        page
    )
    asked = {
        name
        for file in page.values()
        for name in re.findall(r"/page/([\w./-]+\.\w+)", file.content.decode())
    }
    modules = {
        f"js/{name}"
        for file in page.values()
        for name in re.findall(r'(?:from|import) "regard/([\w-]+\.js)"', file.content.decode())
    }
    assert asked | modules | {INDEX} == set(page)


def test_an_import_map_is_allowed_by_its_hash(tmp_path: Path) -> None:
    script = '{"imports": {}}'
    html = f'<script type="importmap">{script}</script><script>alert(1)</script>'
    page = read_page(page_folder(tmp_path, {"index.html": html}))
    policy = security_headers(page)["Content-Security-Policy"]
    # printf '{"imports": {}}' | openssl dgst -sha256 -binary | base64
    assert "script-src 'self' 'sha256-CJt/FpW3RQlGvqBeO/YK74xrTm1ctS6rLMJu1bV4fMc='" in policy
    assert "unsafe" not in policy and policy.count("sha256") == 1
