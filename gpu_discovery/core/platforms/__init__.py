"""Where the facts of a node's GPUs come from: NVML, CUDA on Tegra, the bus alone for vfio; and which of them it is.

One module per source, each with one class whose ``read`` gives ``facts.PlatformFacts`` and raises nothing; ``probes``
says what was tried to tell the platform, ``detected`` decides by it. Sources are imported when they are chosen, so
that a node pays for its own only. What must not live here: anything that is the same on every platform (``host``) or
that asks which one it is (everything above). Only ``core.snapshot`` imports this.
"""
