"""Building blocks that take plain numbers: embedding, position, feed-forward, norm, dropout."""
