"""From bytes to checked columns of text: readers, limits, proposals."""
