"""Scores of translations, with the signature, the interval and the test that make them honest."""
