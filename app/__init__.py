"""privacy-risk: how much harm a disclosure can do, what it is still good for, and which form is best."""

import os
from typing import Final

from app.kernels import leave_slow_kernels

__version__: Final = "0.1.0"

leave_slow_kernels(os.environ)
