"""The former name of ``privacy_risk``, for one release."""

import warnings

from privacy_risk import *  # noqa: F403 - whatever that has under its own name

warnings.warn("app.client is now called privacy_risk.", DeprecationWarning, stacklevel=2)
