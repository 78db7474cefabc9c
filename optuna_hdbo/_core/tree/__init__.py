"""The partition tree of SOO and BaMSOO: nodes, the trials that carry them, its surrogate."""
