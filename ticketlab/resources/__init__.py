"""External resources of attacks and bias models: word vectors, taggers, WordNet, models, textattack."""
