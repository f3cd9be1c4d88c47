"""The exported page as text; tests/page opens it in a browser."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
import torch

from regard.api import Translator
from regard.errors import ConfigError
from regard.lens.html import html_page, write_html
from regard.lens.record import AttentionRecord
from regard.lens.wire import to_wire

HOSTILE = "</script><script>alert(1)</script><!--"


def record(pieces: list[str], layers: int = 1, heads: int = 1) -> AttentionRecord:
    torch.manual_seed(0)
    size = len(pieces)
    weights = torch.randn(layers, heads, size, size).mul(2).softmax(-1)
    names = tuple(pieces)
    return AttentionRecord(
        names, names, {"encoder": weights, "decoder": weights.tril(), "cross": weights}
    )


def test_six_layers_of_eight_heads_and_fifty_pieces_stay_under_700_kilobytes() -> None:
    # The least compressible there is: every weight random.
    page = html_page(to_wire(record([f"▁piece{i}" for i in range(51)], layers=6, heads=8)))
    assert len(page.encode()) < 700_000


def test_the_policy_names_every_script_and_style_by_its_hash() -> None:
    page = html_page(to_wire(record(["a", "</s>"])))
    policy = re.search(r'Policy" content="(.*?)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none';")
    assert "unsafe" not in policy[1]
    scripts = re.findall(r"<script type=\"(?:importmap|module)\">(.*?)</script>", page, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert len(scripts) == 2 and len(styles) == 1
    for content in scripts + styles:
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]


def test_nothing_is_fetched() -> None:
    page = html_page(to_wire(record(["a", "</s>"])))
    assert not re.search(r"(?:src|href)=", page)
    modules = json.loads(page.split('<script type="importmap">')[1].split("</script>")[0])
    sources = [base64.b64decode(url.split(",")[1]).decode() for url in modules["imports"].values()]
    for source in sources:
        for name in re.findall(r'^(?:import|\}) .*?"(.+?)";$', source, re.MULTILINE):
            assert name in modules["imports"]
        assert "http" not in source.replace("http://www.w3.org/2000/svg", "")


def test_no_piece_or_name_ends_the_data() -> None:
    page = html_page(to_wire(record([HOSTILE, "</s>"]), model=HOSTILE), HOSTILE)
    assert HOSTILE not in page
    data = page.split('id="attention-data">')[1].split("</script>")[0]
    assert json.loads(data)["axes"]["source"]["pieces"][0] == HOSTILE


def test_a_lone_surrogate_can_be_written(tmp_path: Path) -> None:
    write_html(tmp_path / "look.html", to_wire(record(["\ud800", "</s>"]), model="\ud800"))
    assert (tmp_path / "look.html").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent/look\.html: cannot be written"):
        write_html(tmp_path / "absent" / "look.html", to_wire(record(["a", "</s>"])))


def test_a_notebook_shows_translations(translator: Translator) -> None:
    watched = translator.translate("Jane voit un livre.", attention=True)
    assert watched._repr_html_().count("<iframe") == 1
    assert "allow-same-origin" not in watched._repr_html_()
    plain = translator.translate("Jane <b>voit</b>.", prefix="<b>")
    assert "<iframe" not in plain._repr_html_()
    assert "<b>" not in plain._repr_html_()
