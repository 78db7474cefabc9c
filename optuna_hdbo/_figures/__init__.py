"""What figures are made of, as plain dictionaries that plotly reads."""
