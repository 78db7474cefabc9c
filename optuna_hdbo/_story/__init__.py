"""What became of a study's queries, in words: read from its storage alone."""
