"""Facts of the node that do not come from a driver library: machine, kernel module, PCI bus, MIG capability tree.

Every function takes the host root, so a folder of files is as good as a machine. Reading is bounded: nothing here
follows a file for more than it can hold, and a file that cannot be read is a ``model.ReadFailure`` beside what could.
Paths in failures and errors are the host's own, without the root. Nothing here knows NVML, labels or resources; any
module above may import it.
"""
