"""Attention as one HTML file: the page's own element with its data, and nothing to fetch."""

import base64
import hashlib
import html
import json
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Any

from regard.errors import ConfigError

ENTRY = "exported.js"
IFRAME_HEIGHT = 900


def html_page(wire: dict[str, Any], title: str = "") -> str:
    """A page that shows a record, whole in itself: it opens from a disk without a network.

    The modules stand in an import map as `data:` URLs, since a browser imports nothing from
    `file://`. The policy lets run what stands here and nothing else, and lets nothing be fetched.

    Args:
        wire: what `to_wire` made of a record.
        title: of the window.
    """
    page = _page_folder()
    modules = {
        f"regard/{name}": f"data:text/javascript;base64,{_base64(source)}"
        for name, source in _modules(page / "js", ENTRY).items()
    }
    template = Template((page / "exported.html").read_text("utf-8"))
    style = (page / "css" / "exported.css").read_text("utf-8")
    filled = template.substitute(
        policy="$policy",
        title=html.escape(title or wire["model"] or "Attention"),
        style=style,
        model=html.escape(wire["model"]),
        importmap=json.dumps({"imports": modules}),
        # The one thing that could end the data is a tag.
        data=json.dumps(wire).replace("<", "\\u003c"),
    )
    policy = (
        f"default-src 'none'; script-src data: {_hashes(filled, 'script')}; "
        f"style-src {_hashes(filled, 'style')}; img-src blob: data:"
    )
    return filled.replace("$policy", policy, 1)


def write_html(path: Path, wire: dict[str, Any], title: str = "") -> None:
    """Write `html_page` into a file.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        path.write_text(html_page(wire, title), "utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror})") from None


def html_frame(wire: dict[str, Any]) -> str:
    """The page in a frame, for a notebook: its scripts see nothing of the notebook's."""
    return (
        f'<iframe srcdoc="{html.escape(html_page(wire))}" sandbox="allow-scripts allow-downloads" '
        f'style="width: 100%; height: {IFRAME_HEIGHT}px; border: 0"></iframe>'
    )


def _page_folder() -> Traversable:
    """The server's page; it is data of this package, whoever serves it."""
    return resources.files("regard") / "serve" / "page"


def _modules(folder: Traversable, entry: str) -> dict[str, str]:
    """A module and all that it imports, by name."""
    found: dict[str, str] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = (folder / name).read_text("utf-8")
            waiting += re.findall(r'^(?:import|\}) .*?"regard/(.+?)";$', found[name], re.MULTILINE)
    return found


def _hashes(page: str, tag: str) -> str:
    """The SHA-256 of each inline script or style, as a policy names them."""
    contents = re.findall(
        rf"<{tag}(?: type=\"(?:module|importmap)\")?>(.*?)</{tag}>", page, re.DOTALL
    )
    digests = (hashlib.sha256(content.encode()).digest() for content in contents)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
