"""``devices`` of a sharing entry: ``all``, a count, or a list of devices."""

from __future__ import annotations

from gpu_discovery.core.config import fields, types, values, yaml_tree
from gpu_discovery.core.config.reading import Reading
from gpu_discovery.core.kit.frozen import frozen

ALL = "all"
_REF_PATTERN = rf"^([0-9]{{1,9}}(:[0-9]{{1,9}})?|(GPU|MIG)-{values.UUID_PATTERN}|MIG-GPU-{values.UUID_PATTERN}/[0-9]{{1,9}}/[0-9]{{1,9}})$"


@frozen
class DeviceRef:
    """An element of the list."""

    text: str = "index, MIG index `0:1`, `GPU-…` or `MIG-…`"

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        number = fields.whole_number(node)
        text = node.value if isinstance(node, yaml_tree.Scalar) and isinstance(node.value, str) else None
        if number is not None:
            text = str(number)
        if text is None:
            reason = f"unsupported type for device in devices list: {fields.described(node)}"
            reading.fault(path, node.line, reason, f"write {self.text}")
            return fields.INVALID
        try:
            return values.parse_device_ref(text)
        except ValueError as error:
            reading.fault(path, node.line, str(error))
            return fields.INVALID

    def json_schema(self) -> fields.JsonSchema:
        return {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 999999999},
                {"type": "string", "pattern": _REF_PATTERN},
            ]
        }


_REFS = fields.ListOf(DeviceRef())


@frozen
class Devices:
    """The whole of it."""

    text: str = "`all`, a count, or a list of indices and UUIDs"

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        match node:
            case yaml_tree.Sequence():
                return self._listed(node, path, reading)
            case yaml_tree.Scalar(value=str()):
                if node.text == ALL:
                    return types.DeviceSelection()
                hint = "a single device is a list of one" if _is_ref(node.text) else ""
                reason = f"devices set as {values.shown(node.text)} but the only valid string input is 'all'"
            case _:
                count = fields.whole_number(node)
                if count is not None and 0 < count <= fields.LARGEST_INTEGER:
                    return types.DeviceSelection(is_all=False, count=count)
                reason = f"unrecognized devices: {fields.described(node)}"
                if count is not None:
                    reason = f"devices set as {count} but a count of devices must be > 0"
                hint = f"write {self.text}"
        reading.fault(path, node.line, reason, hint)
        return fields.INVALID

    def json_schema(self) -> fields.JsonSchema:
        count = {"type": "integer", "minimum": 1, "maximum": fields.LARGEST_INTEGER}
        return {"anyOf": [{"const": ALL}, count, _REFS.json_schema()]}

    def _listed(self, node: yaml_tree.Sequence, path: str, reading: Reading) -> object:
        refs = _REFS.read(node, path, reading)
        return types.DeviceSelection(is_all=False, refs=refs) if isinstance(refs, tuple) else fields.INVALID


def _is_ref(text: str) -> bool:
    try:
        values.parse_device_ref(text)
    except ValueError:
        return False
    return True
