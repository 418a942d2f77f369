"""The NVIDIA Management Library: the one place that asks it, and the only importer of pynvml.

What lives here: where the library is (``library``), the session with it (``session``, ``causes``), the one function
that every call goes through (``gateway``, ``calls``), the facts and how they are named (``gpus``, ``migs``,
``profiles``, ``links``), and one pass over all of it (``reader``). What must not: labels, resources, config, logging.
Callers import ``reader`` and ``library``; they get frozen values of ``core.model`` and errors of ``core.errors``, and
never see a handle, a return code's exception or a ctypes structure.
"""
