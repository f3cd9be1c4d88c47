"""Text in, numbers out, and back without loss: tokenisers, spans of words, sentences."""
