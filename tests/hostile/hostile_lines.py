"""A thousand lines that nobody should have to translate."""

import random

NUM_LINES = 1000
NUM_LONG = 5

SENTENCE = "Jane visite l'Afrique en septembre."
RIGHT_TO_LEFT = "שלום עולם \u202eمرحبا بالعالم\u202c \u200f(abc)"
COMBINING = "Z̸̢̛͚̼̲̪̙͓̺̟̮̾̓́̈́̿͛̈́́̕͠͝à̸̡̛̖̲̱͓̙̣͖͔̳̔̏̂̂̎͊̑͛͠͝l̷̨̧̛͔͔̞̠͔̘̱̬͎̈́̿̈́̒́̀̂̕͘͠͝͝gò"
EMOJI = "🤷🏽‍♀️👨‍👩‍👧‍👦🏳️‍🌈 ☺️ 🇫🇷"
BREAKS = "un\u2028deux\u2029trois\x85quatre\x0bcinq\x0csix\rsept\x1chuit"


def hostile_lines() -> list[bytes]:
    """The lines as bytes without their line feeds; every kind, many times, in a fixed disorder."""
    chosen = random.Random(0)
    lines = [
        *[b"", b"   ", b"\t \xc2\xa0 ", b"\r", b"\x00", b"\x1b[31m\x07\x7f", b"\xef\xbb\xbf"],
        *[s.encode() for s in (SENTENCE, RIGHT_TO_LEFT, COMBINING, EMOJI, BREAKS)],
        *[
            b"caf\xe9",
            b"\xff\xfe\x00",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xc0\xaf",
            b"\xe2\x82",
        ],
        *[s.encode() for s in ("\ufffd", "\u200b", "\u2060", "▁", "<s></s><unk>", "&amp;\\u0041")],
        *[
            b'{"source": "\\ud800"}',
            b"-",
            b"--help",
            b"\\n",
            b"'; --",
            b"%s%n",
            b"${HOME}",
            b"../..",
        ],
    ]
    while len(lines) < NUM_LINES - NUM_LONG:
        kind = chosen.randrange(4)
        if kind == 0:
            lines.append(chosen.randbytes(chosen.randrange(1, 30)).replace(b"\n", b""))
        elif kind == 1:
            codes = [chosen.randrange(0x20, 0x30000) for _ in range(chosen.randrange(1, 12))]
            text = "".join(chr(c) for c in codes if not 0xD800 <= c < 0xE000)
            lines.append(text.encode())
        elif kind == 2:
            lines.append(bytes(chosen.choices(b"\x00\x01\t\x0b\x0c\r\x1b\x1f .ab", k=8)))
        else:
            words = SENTENCE.split()
            chosen.shuffle(words)
            lines.append(" ".join(words).encode())
    lines += [
        b"a" * 10_000,
        "漢".encode() * 10_000,
        "e\u0301".encode() * 5_000,
        b"la gare, " * 1_111,
        b"Jane voit un livre. " * 500,
    ]
    first, *rest = lines
    chosen.shuffle(rest)
    assert len(lines) == NUM_LINES and not any(b"\n" in line for line in lines)
    return [first, *rest]
