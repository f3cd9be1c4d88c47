"""What the model looked at: capture, records, words, pictures."""
