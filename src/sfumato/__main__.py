"""`python -m sfumato`: the command line."""

from __future__ import annotations

import sys

from sfumato.cli import main

sys.exit(main())
