"""Where an acquisition function is largest, over the domain or over parts of it."""
