"""A portfolio of methods: a floor above them, because no method imports another."""
