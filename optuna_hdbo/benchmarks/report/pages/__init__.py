"""Pages with a paper's own figures beside those of this package, one module per paper.

A module has ``make(results, folder) -> str``: from the results of a file it writes images into a
folder and returns the page's Markdown. Its docstring says which runs the page needs.
"""
