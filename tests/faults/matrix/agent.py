"""gridpace-agent, whose hub waits a second or two for a silent rank instead of ten, or sixty in a checkpoint."""

from __future__ import annotations

import sys
from functools import partial

import trainer_hooks.agreement.hub as agreement_hub
from trainer_hooks.agent.main import main

if __name__ == "__main__":
    agreement_hub.Timing = partial(agreement_hub.Timing, timeout_s=1.5, silence_s=2.0)
    sys.exit(main())
