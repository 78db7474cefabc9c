"""Run samplers on problems and measure regret, time and memory."""
