"""The past of a beam without moving it: hypotheses share slots, and each knows which are its own.

A step adds a slot for every hypothesis of a sentence. All hypotheses of a sentence are queries to
all its slots, as they are to the source (the beam is the query axis), and a bias hides the slots
that are not in a hypothesis's past. When the beam is reordered, only that bias is. Now and then
the slots that are in nobody's past any more are dropped: the hypotheses of a beam soon share all
but their last few tokens.
"""

import torch

from regard.shapes import Float, Int, Tensor

# Slots that there is room for at first, in steps; then twice as many, and so on.
FIRST_STEPS = 16
# The share of slots left that makes dropping the others pay.
WORTH_DROPPING = 0.75


class Ancestry:
    """Which slots each row has been at.

    Attributes:
        num_sentences: how many sentences there are.
        lanes: how many rows a sentence has.
        num_slots: how many slots a sentence has.
    """

    def __init__(self, num_sentences: int, heads: int) -> None:
        self.num_sentences = num_sentences
        self.lanes = 1
        self.num_slots = 0
        self._heads = heads
        # R slots: 0 where a slot is in a row's past, −∞ where not. None while there is one row a
        # sentence, whose past all slots are.
        self._bias: Tensor | None = None

    def extend(self) -> Float[Tensor, "G N S"] | None:
        """Add a slot for every row, seen by that row alone; the bias of all slots by now.

        Returns:
            One bias a sentence and head, G = B · H; None where every row sees every slot.
        """
        lanes = self.lanes
        self.num_slots += lanes
        if self._bias is None:
            return None
        own = torch.full((lanes, lanes), -torch.inf).fill_diagonal_(0.0)
        self._bias = torch.cat([self._bias, own.repeat(self.num_sentences, 1)], 1)
        shape = (self.num_sentences, self._heads, lanes, self.num_slots)
        return self._bias.view(shape[0], 1, *shape[2:]).expand(shape).reshape(-1, *shape[2:])

    def reorder(self, rows: Int[Tensor, "B N"]) -> None:
        """Row (b, n) goes on from what row `rows[b, n]` was."""
        if self._bias is not None:
            self._bias = self._bias[rows.flatten()]
        elif rows.shape[1] > 1:
            self._bias = torch.zeros(rows.numel(), self.num_slots)
        self.num_sentences, self.lanes = rows.shape

    def drop_dead(self) -> Int[Tensor, "B A"] | None:
        """Forget the slots that no row has been at; return which stay, and come in this order.

        A sentence with fewer than others keeps some of the dead, which nobody sees. None where
        too few are dead to be worth the copying.
        """
        if self._bias is None:
            return None
        bias = self._bias.view(self.num_sentences, self.lanes, -1)
        is_alive = (bias == 0).any(1)  # B slots
        most = int(is_alive.sum(1).max())
        if most > WORTH_DROPPING * self.num_slots:
            return None
        kept = is_alive.int().argsort(dim=1, descending=True, stable=True)[:, :most]
        places = kept.unsqueeze(1).expand(-1, self.lanes, -1)
        self._bias = bias.gather(2, places).flatten(0, 1)
        self.num_slots = most
        return kept


class Slots:
    """Self-attention's keys and values of one layer, by sentence, head and slot."""

    def __init__(self) -> None:
        self._filled: Tensor | None = None  # 2 B H capacity K

    def append(
        self, new: Float[Tensor, "2 B H N K"], num_slots: int
    ) -> tuple[Float[Tensor, "G S K"], Float[Tensor, "G S K"]]:
        """Store the last of now `num_slots` slots; return the keys and the values of all.

        Args:
            new: of one step, keys first.
            num_slots: of each sentence, the new ones among them.
        """
        lanes = new.shape[3]
        room = 0 if self._filled is None else self._filled.shape[3]
        if num_slots > room:
            self._grow(new, num_slots - lanes, max(2 * room, FIRST_STEPS * lanes))
        assert self._filled is not None
        self._filled[:, :, :, num_slots - lanes : num_slots] = new
        keys, values = self._filled.flatten(1, 2)[:, :, :num_slots]
        return keys, values

    def select(self, sentences: Int[Tensor, "b"], num_slots: int) -> None:
        """Keep these sentences, in this order."""
        old = self._filled
        assert old is not None, "nothing appended yet"
        new = old.new_empty(2, len(sentences), *old.shape[2:])
        new[:, :, :, :num_slots] = old[:, :, :, :num_slots].index_select(1, sentences)
        self._filled = new

    def keep(self, slots: Int[Tensor, "B A"]) -> None:
        """Keep these slots of each sentence, in this order."""
        old = self._filled
        assert old is not None, "nothing appended yet"
        _, batch, heads, room, width = old.shape
        block = torch.arange(2 * batch * heads).view(2, batch, heads, 1) * room  # where each begins
        places = (block + slots.unsqueeze(1)).flatten()
        num_kept = slots.shape[1]
        kept = old.view(-1, width).index_select(0, places).view(2, batch, heads, num_kept, width)
        self._filled = old.new_empty(2, batch, heads, min(2 * num_kept, room), width)
        self._filled[:, :, :, :num_kept] = kept

    def _grow(self, like: Tensor, num_filled: int, room: int) -> None:
        old = self._filled
        new = like.new_empty(*like.shape[:3], max(room, num_filled + like.shape[3]), like.shape[4])
        if old is not None:
            new[:, :, :, :num_filled] = old[:, :, :, :num_filled]
        self._filled = new
