"""Shapes and types are checked while the tests run: the hook precedes every import of regard."""

from hypothesis import settings
from jaxtyping import install_import_hook

install_import_hook("regard", "beartype.beartype")

# A busy machine is no reason to fail: no test here measures time.
settings.register_profile("regard", deadline=None)
settings.load_profile("regard")

pytest_plugins = ["tests.fixtures"]
