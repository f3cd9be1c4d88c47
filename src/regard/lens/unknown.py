"""PosUnk: where the model wrote an unknown word, the source word it looked at."""

from regard.shapes import Float, Tensor
from regard.text.encoded import Encoded
from regard.text.tokeniser import shown


def replace_unknown(
    target: Encoded, source: Encoded, weights: Float[Tensor, "T S"], unk: int
) -> Encoded:
    """Copy the attended source word into the place of every unknown target word.

    Luong et al. 2015, "Addressing the Rare Word Problem in Neural Machine Translation", section
    3.3; Zhou et al. 2016, section 4. Most unknown words are names and numbers, which are the
    same in both languages. Differs: the position comes from the attention, as in Zhou et al.,
    and no dictionary is asked first.

    Args:
        target: what was written.
        source: what was read.
        weights: where each target piece looked; rows and columns of end tokens may follow.
        unk: the id of the unknown word.
    """
    if unk not in target.ids or not source.ids:
        return target
    looked: list[int] = weights[:, : len(source.ids)].argmax(1).tolist()
    text, shift = target.text, 0
    pieces, offsets = list(target.pieces), list(target.offsets)
    for place, (start, end) in enumerate(target.offsets):
        start, end = start + shift, end + shift
        if target.ids[place] == unk:
            begin, stop = source.offsets[looked[place]]
            surface = text[start:end]
            space = surface[: len(surface) - len(surface.lstrip())]
            word = space + source.text[begin:stop].strip()
            text = text[:start] + word + text[end:]
            shift += len(word) - (end - start)
            end = start + len(word)
            pieces[place] = shown(word)
        offsets[place] = (start, end)
    return Encoded(text, target.ids, tuple(pieces), tuple(offsets))
