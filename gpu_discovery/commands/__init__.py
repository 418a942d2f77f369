"""``gpu-discovery``, the operator's tool: one module per command.

A command reads a node or a recorded one, derives what the daemon would derive, and prints it for a person. Nothing is
published here and nothing loops. Commands are found by the entry point group ``gpu_discovery.commands``, so that other
packages bring their own without being imported from here. Rich is imported by ``tables`` alone, and only when standard
output is a terminal. May be imported by ``cli`` and entry points only.

Exit codes: 0 done; 1 the answer is no (labels differ, an invalid file, no such key); 2 it could not be answered.
"""

from __future__ import annotations

from gpu_discovery.commands.group import main as main
