"""Tools without a domain: text, files, time, logs, loops. They could be libraries of their own.

Nothing here knows of GPUs, labels, NVML or Kubernetes, raises an error of this product, or imports another of its
packages. Everybody may import it.
"""
