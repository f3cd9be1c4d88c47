"""The lectures' claims as experiments: more data, longer sentences, gradients from far away."""
