"""The libraries to compare with, and tokenisers for the models."""

import warnings
from typing import Any

import pytest

from regard.convert.parcel import Parcel
from regard.text.pair import TokeniserPair

from .parcels import learned_parcel, learned_tokenisers


@pytest.fixture(scope="session")
def transformers() -> Any:
    """Hugging Face's library, kept from looking for anything on the network."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("HF_HUB_OFFLINE", "1")
        module = pytest.importorskip(
            "transformers", reason='transformers is not installed: pip install "regard[dev]"'
        )
        module.utils.logging.set_verbosity_error()
        module.utils.logging.disable_progress_bar()
        module.MarianMTModel, module.MarianTokenizer  # loaded on first use  # noqa: B018
        return module


@pytest.fixture(scope="session")
def ctranslate2() -> Any:
    """CTranslate2."""
    return pytest.importorskip(
        "ctranslate2", reason='CTranslate2 is not installed: pip install "regard[convert]"'
    )


@pytest.fixture(scope="session")
def joint() -> TokeniserPair:
    """One BPE for both languages."""
    return learned_tokenisers()


@pytest.fixture(scope="session")
def apart() -> TokeniserPair:
    """One BPE a language."""
    return learned_tokenisers(joint=False, vocab_size=290)


@pytest.fixture(scope="session")
def post_norm(joint: TokeniserPair) -> Parcel:
    """A model that has learned something."""
    return learned_parcel(joint)


@pytest.fixture(scope="session")
def pre_norm(joint: TokeniserPair) -> Parcel:
    """The same with normalisation before the sub-layers."""
    return learned_parcel(joint, norm_place="pre")
