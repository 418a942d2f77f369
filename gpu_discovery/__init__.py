"""GPU Feature Discovery: turns what a node's NVIDIA GPUs are into labels.

``core`` reads the world once into a snapshot and derives a picture from it; ``labels`` turn the picture into keys and
values; ``sinks`` carry those out; ``labeler`` joins the two and ``daemon`` says when. ``device_plugin`` may import
``core``, ``settings`` and ``labeler``; nothing here imports ``device_plugin``. The order of imports is a contract in
setup.cfg.
"""

__version__ = "0.1.0"
