"""The file tree of the README, made from the first line of every module's docstring.

python tests/contracts/file_tree.py     rewrites it
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- file tree -->\n```\n", "```\n<!-- end of file tree -->\n"


def file_tree() -> str:
    """One line a file, its name and what it is for."""
    lines = []
    package = ROOT / "src" / "regard"
    for path in sorted(package.rglob("*.py"), key=lambda p: (p.parent != package, p.parts)):
        place = path.relative_to(package)
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
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return docstring.split("\n")[0]


if __name__ == "__main__":
    (ROOT / "README.md").write_text(readme_with(file_tree()), "utf-8")
