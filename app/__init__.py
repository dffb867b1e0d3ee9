"""privacy-risk: how much harm a disclosure can do, what it is still good for, and which form is best."""

from typing import Final

__version__: Final = "0.1.0"
