"""What is maximised: acquisition functions, constraints, confidence schedules."""
