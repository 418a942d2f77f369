"""The CUDA driver API, asked on Tegra, where NVML is missing or knows little.

What lives here: the library behind ctypes (``driver``), the process that asks it (``child``), and what that process
answers as values (``reader``). CUDA has no way back from ``cuInit``: the process keeps the device nodes open for good,
and a failure sticks to it. So a child process asks and answers in JSON, once per driver load; this process never loads
libcuda. What must not live here: anything about NVML, labels or resources. Callers import ``reader``.
"""
