"""The page: its files, read once, and the policy that a browser holds them to."""

import base64
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "page"
INDEX = "index.html"
EXPORTED = "exported"
"""The name of what `regard.lens.html` makes a file of; the page does without."""
CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file as it is sent."""

    content: bytes
    content_type: str
    etag: str


def read_page(folder: Path = FOLDER) -> dict[str, PageFile]:
    """Every file of a known kind, by its path in the folder.

    What is served is looked up in this table, so no address leads anywhere else on the disk.
    """
    return {
        path.relative_to(folder).as_posix(): _page_file(path)
        for path in sorted(folder.rglob("*"))
        if path.suffix in CONTENT_TYPES
        and path.stem != EXPORTED
        and path.is_file()
        and not path.is_symlink()
    }


def security_headers(page: dict[str, PageFile]) -> dict[str, str]:
    """What every answer says to a browser.

    Scripts come from this server alone; of those inside a document only its import maps run,
    each named by its SHA-256.
    """
    scripts = ["'self'"]
    for name, file in page.items():
        if name.endswith(".html"):
            for script in _IMPORT_MAP.findall(file.content.decode()):
                digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                scripts.append(f"'sha256-{digest}'")
    policy = {
        "default-src": "'self'",
        "script-src": " ".join(scripts),
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{key} {value}" for key, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def _page_file(path: Path) -> PageFile:
    content = path.read_bytes()
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return PageFile(content, CONTENT_TYPES[path.suffix], etag)
