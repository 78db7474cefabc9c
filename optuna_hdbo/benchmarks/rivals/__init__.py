"""The samplers that are compared, by name."""
