"""`regard look`: where a model looked while it translated a sentence."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from regard.cli.progress import warn

if TYPE_CHECKING:
    from regard.api import Translator
    from regard.translation import SentenceTranslation

Flag = Parameter(negative=())

WHOLE = (".html", ".json")
"""Endings of files that hold every kind, layer and head."""


def look(
    sentence: str,
    /,
    *,
    model: Path | None = None,
    to: str | None = None,
    out: Path | None = None,
    kind: Literal["cross", "encoder", "decoder"] = "cross",
    layer: int | None = None,
    head: int | None = None,
    heads: Annotated[bool, Flag] = False,
    words: bool = True,
    checkpoint: str | None = None,
    beam: int | None = None,
    context: str | None = None,
    word: str | None = None,
    json: Annotated[bool, Flag] = False,
    device: str = "auto",
) -> None:
    """Show what a model looks at when it translates a sentence.

    Prints the translation, a heat map and the word alignment, or draws the map into a file.
    Weights show where the model looked, not why.

    Args:
        sentence: what to translate, taken whole.
        model: a run folder; unless given, one that came with Regard.
        to: which of those: en, from French, unless given; fr, from English.
        out: a .png or .svg to draw into; a .html to look at every kind, layer and head in a
            browser, or a .json of them.
        kind: cross, from target to source; encoder, inside the source; decoder, inside the target.
        layer: counted from 1; the mean over all layers unless given.
        head: counted from 1; the mean over all heads unless given.
        heads: draw a grid of every layer and head into the file.
        words: between words; --no-words for pieces, start and end tokens included.
        checkpoint: best, averaged, last, or a folder's name such as step-500.
        beam: hypotheses kept at each step; 1 is greedy.
        context: another sentence with the same word, to compare how the encoder sees it in both.
        word: that word.
        json: print what a .json file would hold.
        device: auto, cpu, cuda or mps.
    """
    from rich.console import Console
    from rich.text import Text

    from regard.api import load
    from regard.cli.models import given_or_bundled
    from regard.errors import ConfigError
    from regard.lens.html import write_html
    from regard.lens.picture import picture_of
    from regard.lens.plot import all_heads, heat_map
    from regard.lens.terminal import show_alignment, show_heat_map

    _check_options(out, layer, head, heads)
    if (context is None) != (word is None):
        raise ConfigError("--context and --word go together: a word, and where else it stands")
    (folder,) = given_or_bundled((model,) if model else (), to)
    translator = load(folder, checkpoint=checkpoint, device=device, warn=warn)
    if context is not None and word is not None:
        _show_contexts(translator, (sentence, context), word, json)
        return
    options = {} if beam is None else {"beam": beam}
    translation = translator.translate(sentence, attention=True, split_sentences=False, **options)
    if not translation.sentences:
        raise ConfigError("the sentence is empty; there is nothing to look at")
    (found,) = translation.sentences
    record = found.attention
    assert record is not None, "attention was asked for"
    picture = picture_of(
        record,
        found.source,
        found.best.target,
        kind=kind,
        layer=layer,
        head=head,
        by_words=words,
    )
    if out is not None and heads:
        all_heads(record, kind, out)
    elif out is not None and out.suffix.lower() == ".json":
        _write_json(found, out)
    elif out is not None and out.suffix.lower() == ".html":
        write_html(out, found.to_wire(folder.name), sentence)
    elif out is not None:
        heat_map(picture.weights, picture.rows, picture.columns, out, picture.title)
    if json:
        print(_json(found))
        return
    console = Console()
    console.print(Text(found.text, style="bold"), soft_wrap=True)
    if out is not None:
        console.print(Text(str(out), style="dim"), soft_wrap=True)
        return
    console.print(Text(f"\n{picture.title}", style="dim"))
    show_heat_map(console, picture.weights, picture.rows, picture.columns)
    if found.alignment is not None:
        console.print()
        show_alignment(console, found.alignment)


def _show_contexts(
    translator: "Translator", sentences: tuple[str, str], word: str, as_json: bool
) -> None:
    """Print how alike a word's vectors are, before the first layer and after each."""
    from regard.lens.contexts import word_in_contexts

    model, tokeniser = translator.models[0], translator.tokenisers.source
    found = word_in_contexts(model, tokeniser, *sentences, word, max_pieces=translator.max_pieces)
    if as_json:
        from json import dumps

        print(dumps(found.to_json(), ensure_ascii=False))
        return
    print("layer  cosine")
    for layer, cosine in enumerate(found.cosines):
        print(f"{layer:5}  {cosine:6.3f}")


def _check_options(out: Path | None, layer: int | None, head: int | None, heads: bool) -> None:
    """Refuse what cannot be done before a model is loaded."""
    from regard.errors import ConfigError
    from regard.lens.plot import SUFFIXES, require_plot

    if heads and out is None:
        raise ConfigError("--heads draws a grid into a file; add --out FILE.png")
    if heads and (layer is not None or head is not None):
        raise ConfigError("--heads shows every layer and head; leave out --layer and --head")
    if out is None:
        return
    suffix = out.suffix.lower()
    if heads and suffix in WHOLE:
        raise ConfigError(f"--out {out}: a {suffix} holds every head anyway; leave out --heads")
    if suffix in WHOLE:
        return
    if suffix not in SUFFIXES:
        known = ", ".join((*SUFFIXES, WHOLE[0]))
        raise ConfigError(f"--out {out}: expected a name that ends in {known} or {WHOLE[1]}")
    require_plot(out)


def _json(found: "SentenceTranslation") -> str:
    import json

    return json.dumps(found.to_json(), ensure_ascii=False)


def _write_json(found: "SentenceTranslation", out: Path) -> None:
    from regard.errors import ConfigError

    try:
        out.write_text(_json(found) + "\n", "utf-8")
    except OSError as error:
        raise ConfigError(f"{out}: cannot be written ({error.strerror})") from None
