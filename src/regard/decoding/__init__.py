"""From a model to a sentence: greedy, beam, sampling, over anything that can take a step."""
