"""The file tree of the README, made from the first line of what each module says of itself.

python tests/contracts/file_tree.py     rewrites it
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- file tree -->\n```\n", "```\n<!-- end of file tree -->\n"


def file_tree() -> str:
    """One line a file, its name and what it is for."""
    lines: list[str] = []
    shown = Path(".")
    package = ROOT / "src" / "regard"
    modules = [path for suffix in ("py", "js", "c", "h") for path in package.rglob(f"*.{suffix}")]
    for path in sorted(modules, key=lambda p: (p.parent != package, p.parent, p.name)):
        place = path.relative_to(package)
        if path.suffix == ".js" and place.parent != shown:
            lines.append(f"{place.parent}/")
        shown = place.parent
        is_room = path.name == "__init__.py"
        name = f"{place.parent}/" if is_room and place.parent != Path(".") else path.name
        indent = "" if is_room or place.parent == Path(".") else "  "
        lines.append(f"{indent}{name:<{22 - len(indent)}}{_summary(path)}".rstrip())
    return "\n".join(lines) + "\n"


def readme_with(tree: str) -> str:
    """The README with this tree in the place of its own."""
    text = (ROOT / "README.md").read_text("utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return before + BEGIN + tree + END + after


def _summary(path: Path) -> str:
    text = path.read_text("utf-8")
    if path.suffix in (".js", ".c", ".h"):
        comment = re.search(r"/\*\*?\s+(?:\* )?(.*?)(?: \*/)?\n", text)
        return comment[1] if comment else ""
    docstring = ast.get_docstring(ast.parse(text)) or ""
    return docstring.split("\n")[0]


if __name__ == "__main__":
    (ROOT / "README.md").write_text(readme_with(file_tree()), "utf-8")
