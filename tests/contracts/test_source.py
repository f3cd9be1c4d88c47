"""Promises about the source itself: no pickle, and one place where attention is computed."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import regard

ROOT = Path(regard.__file__).parent
FILES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))

# Modules that can run code, or turn a file into code, when they read it.
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml"}
UNSAFE_CALLS = {"torch.load", "torch.save", "torch.jit.load", "torch.hub.load", "eval", "exec"}
# What must not be taken out of its module, where its name would tell nothing.
UNSAFE_NAMES = {"torch": {"load", "save", "jit", "hub"}, "numpy": {"load"}}
# Asks transformers to run a program that came with a model.
UNSAFE_OPTIONS = {"trust_remote_code"}

# Every softmax over keys is in Attend; the others are over the vocabulary, or over experts.
SOFTMAX_OVER_KEYS = {"attention/attend.py"}
SOFTMAX_OVER_WORDS = {
    "decoding/shortlist.py",
    "decoding/stepper.py",
    "decoding/sample.py",
    "train/loss.py",
    "train/projection.py",
    "train/r_drop.py",
    "train/reward.py",
}
SOFTMAX_OVER_EXPERTS = {"nn/experts.py"}


def tree(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text("utf-8"))


def imported(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def called(module: ast.Module) -> Iterator[str]:
    """The names of all calls, and of functions handed on without being called."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call | ast.Attribute | ast.Name):
            yield ast.unparse(node.func if isinstance(node, ast.Call) else node)


def uses(file: str, *names: str) -> bool:
    return any(name.rpartition(".")[2] in names for name in called(tree(file)))


def test_there_is_source_to_look_at() -> None:
    assert len(FILES) > 80


@pytest.mark.parametrize("file", FILES)
def test_nothing_imports_what_can_run_code_when_it_reads(file: str) -> None:
    assert not UNSAFE_MODULES & set(imported(tree(file)))


@pytest.mark.parametrize("file", FILES)
def test_nothing_reads_or_writes_pickles(file: str) -> None:
    assert not UNSAFE_CALLS & set(called(tree(file)))


@pytest.mark.parametrize("file", FILES)
def test_nothing_that_reads_pickles_is_imported_by_name(file: str) -> None:
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.ImportFrom) and node.module in UNSAFE_NAMES:
            assert not UNSAFE_NAMES[node.module] & {alias.name for alias in node.names}


@pytest.mark.parametrize("file", FILES)
def test_no_program_that_came_with_a_model_is_run(file: str) -> None:
    given = {node.arg for node in ast.walk(tree(file)) if isinstance(node, ast.keyword)}
    names = {node.value for node in ast.walk(tree(file)) if isinstance(node, ast.Constant)}
    assert not UNSAFE_OPTIONS & given
    assert not any(option in names for option in UNSAFE_OPTIONS)


@pytest.mark.parametrize("file", FILES)
def test_numpy_is_never_allowed_to_read_pickles(file: str) -> None:
    allowed = [
        ast.unparse(node.value)
        for node in ast.walk(tree(file))
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle"
    ]
    assert set(allowed) <= {"False"}


def test_fused_attention_is_called_in_attend_only() -> None:
    found = {file for file in FILES if uses(file, "scaled_dot_product_attention")}
    assert found == SOFTMAX_OVER_KEYS


def test_every_softmax_is_attend_s_or_over_the_vocabulary_or_over_experts() -> None:
    found = {file for file in FILES if uses(file, "softmax", "log_softmax", "Softmax")}
    assert found == SOFTMAX_OVER_KEYS | SOFTMAX_OVER_WORDS | SOFTMAX_OVER_EXPERTS
