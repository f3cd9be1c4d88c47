"""The past of a beam without moving it: hypotheses share slots, and each knows which are its own.

A step adds a slot for every hypothesis of a sentence, and each hypothesis keeps a list of the slots
in its past. When the beam is reordered, only the lists are. Now and then the slots that are in
nobody's past any more are dropped: the hypotheses of a beam soon share all but their last few
tokens.
"""

import torch

from regard.attention.rows import Sight
from regard.shapes import Float, Int, Tensor

# The share of slots left that makes dropping the others pay.
WORTH_DROPPING = 0.75


class Ancestry:
    """Which slots each row has been at.

    Attributes:
        num_sentences: how many sentences there are.
        lanes: how many rows a sentence has.
        num_slots: how many slots a sentence has.
    """

    def __init__(self, num_sentences: int) -> None:
        self.num_sentences = num_sentences
        self.lanes = 1
        self.num_slots = 0
        # R t; None while there is one row a sentence, whose past all slots are.
        self._past: Tensor | None = None

    def extend(self, blocks: Int[Tensor, "B"] | None = None) -> Sight:
        """Add a slot for every row, seen by that row alone; what each row sees by now.

        Args:
            blocks: which of the stored sentences each sentence is; None: they are in order.
        """
        first = self.num_slots
        self.num_slots += self.lanes
        if self._past is not None:
            own = torch.arange(first, self.num_slots, dtype=torch.int32)
            self._past = torch.cat([self._past, own.repeat(self.num_sentences).unsqueeze(1)], 1)
        return Sight(self.num_slots, places=self._past, blocks=blocks)

    def reorder(self, rows: Int[Tensor, "B N"]) -> None:
        """Row (b, n) goes on from what row `rows[b, n]` was."""
        if self._past is not None:
            self._past = self._past[rows.flatten()]
        elif rows.shape[1] > 1:
            self._past = torch.arange(self.num_slots, dtype=torch.int32).repeat(rows.numel(), 1)
        self.num_sentences, self.lanes = rows.shape

    def drop_dead(self) -> Int[Tensor, "B A"] | None:
        """Forget the slots that no row has been at; return which stay, and come in this order.

        A sentence with fewer than others keeps some of the dead, which nobody sees. None where
        too few are dead to be worth the copying.
        """
        if self._past is None:
            return None
        past = self._past.view(self.num_sentences, -1).long()
        is_alive = torch.zeros(self.num_sentences, self.num_slots, dtype=torch.bool)
        is_alive.scatter_(1, past, True)
        most = int(is_alive.sum(1).max())
        if most > WORTH_DROPPING * self.num_slots:
            return None
        kept = is_alive.int().argsort(dim=1, descending=True, stable=True)[:, :most]
        places = torch.zeros(is_alive.shape, dtype=torch.int32)  # where each slot goes
        places.scatter_(1, kept, torch.arange(most, dtype=torch.int32).expand(kept.shape))
        self._past = places.gather(1, past).view(self._past.shape)
        self.num_slots = most
        return kept


class Slots:
    """Self-attention's keys and values of one layer, by sentence, head and slot.

    Args:
        num_steps: there is room for, at first; then for twice as many, and so on.
    """

    def __init__(self, num_steps: int) -> None:
        self._num_steps = num_steps
        self._filled: Tensor | None = None  # 2 B H capacity K

    def append(
        self,
        new: Float[Tensor, "2 B H N K"],
        num_slots: int,
        blocks: Int[Tensor, "B"] | None = None,
    ) -> tuple[Float[Tensor, "A H S K"], Float[Tensor, "A H S K"]]:
        """Store the last of now `num_slots` slots; return the keys and the values of all.

        Args:
            new: of one step, keys first.
            num_slots: of each sentence, the new ones among them.
            blocks: which of the stored sentences each sentence is; None: they are in order.
        """
        _, batch, heads, lanes, width = new.shape
        filled = self.with_room(num_slots, lanes, (batch, heads, width), new.dtype)
        chosen = slice(None) if blocks is None else blocks
        filled[:, chosen, :, num_slots - lanes : num_slots] = new
        keys, values = filled[:, :, :, :num_slots]
        return keys, values

    def with_room(
        self, num_slots: int, lanes: int, shape: tuple[int, int, int], dtype: torch.dtype
    ) -> Float[Tensor, "2 B H C K"]:
        """All keys and values, with room for the last of now `num_slots` slots.

        Args:
            num_slots: of each sentence, the new ones among them.
            lanes: how many are new.
            shape: the number of sentences, that of heads, and their width, at the first call.
            dtype: of the keys and values.
        """
        old = self._filled
        room = 0 if old is None else old.shape[3]
        if old is not None and num_slots <= room:
            return old
        batch, heads, width = shape if old is None else (*old.shape[1:3], old.shape[4])
        num_filled = num_slots - lanes
        room = max(num_slots, 2 * room, self._num_steps * lanes)
        new = torch.empty(2, batch, heads, room, width, dtype=dtype)
        if old is not None:
            new[:, :, :, :num_filled] = old[:, :, :, :num_filled]
        self._filled = new
        return new

    def select(self, sentences: Int[Tensor, "b"], num_slots: int) -> None:
        """Keep these sentences, in this order."""
        old = self._filled
        assert old is not None, "nothing appended yet"
        new = old.new_empty(2, len(sentences), *old.shape[2:])
        new[:, :, :, :num_slots] = old[:, :, :, :num_slots].index_select(1, sentences)
        self._filled = new

    def keep(self, slots: Int[Tensor, "B A"], blocks: Int[Tensor, "B"] | None = None) -> None:
        """Keep these slots of these sentences, in this order."""
        old = self._filled
        assert old is not None, "nothing appended yet"
        _, stored, heads, room, width = old.shape
        begins = torch.arange(2 * stored * heads).view(2, stored, heads, 1) * room
        if blocks is not None:
            begins = begins[:, blocks]
        places = (begins + slots.unsqueeze(1)).flatten()
        batch, num_kept = slots.shape
        kept = old.view(-1, width).index_select(0, places).view(2, batch, heads, num_kept, width)
        self._filled = old.new_empty(2, batch, heads, min(2 * num_kept, room), width)
        self._filled[:, :, :, :num_kept] = kept
