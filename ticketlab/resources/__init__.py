"""What attacks and bias models need from outside: word vectors, taggers, WordNet, models, textattack."""
