"""Language models: names, providers, one retry layer, and answers to tools' questions."""
