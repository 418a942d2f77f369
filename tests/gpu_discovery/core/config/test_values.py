from __future__ import annotations

import pytest

from gpu_discovery.core.config import values

UUID = "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"
HEX = UUID.replace("-", "")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("nvidia.com/gpu", "nvidia.com/gpu"),
        ("gpu", "nvidia.com/gpu"),
        ("gpu.shared", "nvidia.com/gpu.shared"),
        ("mig-1g.5gb", "nvidia.com/mig-1g.5gb"),
        ("a" * 52, "nvidia.com/" + "a" * 52),
    ],
)
def test_resource_names_get_their_prefix(text: str, name: str) -> None:
    """A prefix that is there already stays as it is."""
    assert values.parse_resource_name(text) == name


@pytest.mark.parametrize("text", ["a" * 53, "nvidia.com/" + "a" * 53])
def test_resource_names_have_63_characters_at_most(text: str) -> None:
    """Counted with the prefix."""
    with pytest.raises(ValueError, match="63 characters or less"):
        values.parse_resource_name(text)


@pytest.mark.parametrize("text", ["", "GPU", "foo.com/gpu", "nvidia.com/", "-gpu", "gpu.", "gpu_1", "gpu\n", "a..b"])
def test_resource_names_are_subdomains(text: str) -> None:
    """As Kubernetes wants them; another vendor's prefix lands behind ours and is refused."""
    with pytest.raises(ValueError, match="incorrect format for resource name"):
        values.parse_resource_name(text)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("0", "0"),
        ("007", "7"),
        ("0:1", "0:1"),
        (f"GPU-{UUID}", f"GPU-{UUID}"),
        (f"GPU-{UUID.upper()}", f"GPU-{UUID}"),
        (f"GPU-{HEX}", f"GPU-{UUID}"),
        (f"GPU-{{{UUID}}}", f"GPU-{UUID}"),
        (f"GPU-urn:uuid:{UUID}", f"GPU-{UUID}"),
        (f"GPU-URN:UUID:{UUID}", f"GPU-{UUID}"),
        (f"MIG-{UUID}", f"MIG-{UUID}"),
        (f"MIG-GPU-{UUID}/7/0", f"MIG-GPU-{UUID}/7/0"),
        (f"MIG-GPU-{HEX}/07/0", f"MIG-GPU-{UUID}/7/0"),
    ],
)
def test_devices_are_named_in_canonical_form(text: str, ref: str) -> None:
    """Every spelling of a UUID that the reference reads becomes the one that NVML prints."""
    assert values.parse_device_ref(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-1",
        "0:1:2",
        "all",
        UUID,
        f"gpu-{UUID}",
        "GPU-",
        "GPU-0",
        f"GPU-{{{UUID}",
        f"GPU-{UUID}/1/2",
        f"MIG-GPU-{UUID}/1",
    ],
)
def test_other_texts_name_no_device(text: str) -> None:
    """The reason says what would."""
    with pytest.raises(ValueError, match=r"names no device|is not a UUID"):
        values.parse_device_ref(text)


def test_a_gpu_is_not_named_by_a_mig_uuid() -> None:
    """Selectors choose whole GPUs."""
    with pytest.raises(ValueError, match="not the UUID of a GPU"):
        values.parse_gpu_uuid(f"MIG-{UUID}")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:07:00.0", "0000:07:00.0"),
        ("07:00.0", "0000:07:00.0"),
        ("00000000:0A:00.0", "0000:0a:00.0"),
        ("00010000:07:00.0", "10000:07:00.0"),
    ],
)
def test_pci_addresses_are_those_of_sysfs(text: str, address: str) -> None:
    """Lower case, with a domain of four digits, or five where four aren't enough."""
    assert values.parse_pci_address(text) == address


@pytest.mark.parametrize("text", ["", "7", "0000:07:00", "0000:07:00.8", "g000:07:00.0"])
def test_other_texts_are_no_pci_addresses(text: str) -> None:
    """The function must be there."""
    with pytest.raises(ValueError, match="not a PCI address"):
        values.parse_pci_address(text)


@pytest.mark.parametrize("text", ["", ":9402", "127.0.0.1:0", "[::1]:9402", "localhost:65535"])
def test_http_addresses_are_host_and_port(text: str) -> None:
    """An empty text stands for no port at all."""
    assert values.parse_http_address(text) == text


@pytest.mark.parametrize("text", ["9402", "localhost", ":65536", "::1:9402", "http://x:1", "a b:1"])
def test_other_texts_are_no_http_addresses(text: str) -> None:
    """The reason shows three that are."""
    with pytest.raises(ValueError, match="not host:port"):
        values.parse_http_address(text)


def test_texts_from_outside_are_shown_short_and_on_one_line() -> None:
    """A fault stays one readable line whatever stands in the file."""
    assert values.shown("a\nb") == r"'a\nb'"
    assert len(values.shown("x" * 10_000)) < 100
