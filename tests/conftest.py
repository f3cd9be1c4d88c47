"""Shapes and types are checked while the tests run: the hook precedes every import of regard."""

from jaxtyping import install_import_hook

install_import_hook("regard", "beartype.beartype")

pytest_plugins = ["tests.fixtures"]
