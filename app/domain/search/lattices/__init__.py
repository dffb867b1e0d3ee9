"""Searching one lattice of levels: by boxes, from the top down, or along its frontier."""
