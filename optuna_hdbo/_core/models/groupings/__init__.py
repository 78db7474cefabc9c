"""Groupings of columns: packed into as few groups as possible, or joined where data say so."""
