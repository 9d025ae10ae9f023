"""The playground of docs/playground: answers to its questions, and the folder of static files that serves it.

The page runs `answers` and what it imports in Pyodide, without NumPy; `build` runs on the machine that builds the site.
"""
