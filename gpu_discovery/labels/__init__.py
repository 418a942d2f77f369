"""The labels of a node: a picture in, keys and values out.

One module per label family, each a pure function from a picture to a ``LabelSet``; ``build`` lists them and joins
what they say, ``names`` is the one table of keys, ``values`` makes any text legal. Nothing here reads the node or
writes anywhere, and no sink is imported; ``labeler`` and the operator's commands are the users. The timestamp is the
labeler's, because it depends on what is already published.
"""

from __future__ import annotations

from gpu_discovery.labels.build import make_labels as make_labels
from gpu_discovery.labels.family import LabelSet as LabelSet
