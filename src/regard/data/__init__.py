"""From text files to batches: corpora, the store of ids on disk, and the order of training."""
