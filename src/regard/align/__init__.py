"""Statistical word alignment: who translates whom, learned from pairs of sentences alone."""
