"""The road: every system of the story on one corpus, raced, measured and drawn side by side."""
