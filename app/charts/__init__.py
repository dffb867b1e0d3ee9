"""Pictures as SVG documents; knows nothing of the rest of the program."""
