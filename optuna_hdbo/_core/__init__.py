"""What methods share, in NumPy and SciPy; each room imports only the rooms below it.

Upward: gp < variables < models, tree < acquisition < maximise < embeddings.
"""
