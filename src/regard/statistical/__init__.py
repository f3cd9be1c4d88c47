"""Translation before neural networks: a dictionary with rules; phrases with a language model."""
